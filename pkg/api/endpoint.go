package api

import (
	"context"
	"net/http"
	"reflect"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/scim"
)

// newAPI makes one of the framework: it serves what is registered with it on mux.
func (s *Server) newAPI(mux *http.ServeMux) huma.API {
	api := humago.New(mux, description(s.Version))
	api.UseMiddleware(translate)
	return api
}

// about is a request that says what it is about: what its caller must be
// allowed to touch.
type about interface {
	about(ctx context.Context, s *Server) (right.Resource, error)
}

// someOf is what a list is about, whose items are asked about one by one.
func someOf(on right.Resource, err error) (right.Resource, error) {
	on.Some = true
	return on, err
}

// handle adds an endpoint with the action that it is. Who calls it must be
// allowed the action before anything else happens; an endpoint whose request
// says nothing of what it is about doesn't compile, nor does one without an
// action.
func handle[I, O any, P interface {
	*I
	about
}](s *Server, do action.Action, op huma.Operation, f func(context.Context, *I) (*O, error), more ...func(huma.API, *huma.Operation),
) {
	entry := s.grants.Entry(do)
	op.Extensions = describe(entry)
	register(s, op, func(ctx context.Context, in *I) (*O, error) {
		on, err := P(in).about(ctx, s)
		if err == nil {
			err = asker(ctx).Allow(ctx, do, on)
		}
		if err != nil {
			return nil, err
		}
		return f(ctx, in)
	}, more...)
}

// describe tells of an endpoint's action in the description.
func describe(e action.Entry) map[string]any {
	out := map[string]any{"x-action": e.Action, "x-permissions": action.Names(e.Any)}
	if e.Verb != "" {
		out["x-verb"] = e.Verb
	}
	return out
}

// exempt adds an endpoint that takes no permission, and says why.
func exempt[I, O any](s *Server, why action.Exempt, op huma.Operation, f func(context.Context, *I) (*O, error), more ...func(huma.API, *huma.Operation)) {
	op.Extensions = map[string]any{"x-action": why}
	register(s, op, f, more...)
}

// register adds an endpoint. Its errors become problems with a code; more may
// add what its types don't say to the description, once it is registered.
//
// The framework learns of it at its first request: it takes every type apart,
// which for all endpoints takes longer than all else in a function's cold
// start.
func register[I, O any](s *Server, op huma.Operation, f func(context.Context, *I) (*O, error), more ...func(huma.API, *huma.Operation)) {
	add := func(api huma.API) {
		op := op // the framework completes it
		wrong := map[string]*huma.MediaType{"application/json": {Schema: schemaOf[Problem](api)}}
		if ofSCIM(op.Path) {
			wrong = map[string]*huma.MediaType{scim.MediaType: {Schema: schemaOf[scimProblem](api)}}
		}
		op.Responses = map[string]*huma.Response{"default": {Description: "What went wrong", Content: wrong}}
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := f(ctx, in)
			switch {
			case err == nil:
				return out, nil
			case ofSCIM(op.Path):
				return nil, asSCIM(s.problem(ctx, err), err)
			}
			return nil, s.problem(ctx, err)
		})
		for _, add := range more {
			add(api, &op)
		}
	}
	ready := sync.OnceValue(func() http.Handler {
		mux := http.NewServeMux()
		add(s.newAPI(mux))
		return mux
	})
	s.endpoints = append(s.endpoints, add)
	s.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) { ready().ServeHTTP(w, r) })
}

// schemaOf refers to the schema of a type.
func schemaOf[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// nothing is the answer of an endpoint that only says that it was done.
type nothing struct{}
