package api

import (
	"context"
	"net/http"
	"reflect"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// newAPI makes one of the framework: it serves what is registered with it on mux.
func (s *Server) newAPI(mux *http.ServeMux) huma.API {
	api := humago.New(mux, description(s.Version))
	api.UseMiddleware(translate)
	return api
}

// handle adds an endpoint. Its errors become problems with a code; more may
// add what its types don't say to the description, once it is registered.
//
// The framework learns of it at its first request: it takes every type apart,
// which for all endpoints takes longer than all else in a function's cold
// start.
func handle[I, O any](s *Server, op huma.Operation, f func(context.Context, *I) (*O, error), more ...func(huma.API, *huma.Operation)) {
	register := func(api huma.API) {
		op := op // the framework completes it
		op.Responses = map[string]*huma.Response{"default": {
			Description: "What went wrong",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[Problem](api)}},
		}}
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := f(ctx, in)
			if err != nil {
				return nil, s.problem(ctx, err)
			}
			return out, nil
		})
		for _, add := range more {
			add(api, &op)
		}
	}
	ready := sync.OnceValue(func() http.Handler {
		mux := http.NewServeMux()
		register(s.newAPI(mux))
		return mux
	})
	s.endpoints = append(s.endpoints, register)
	s.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) { ready().ServeHTTP(w, r) })
}

// schemaOf refers to the schema of a type.
func schemaOf[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// nothing is the answer of an endpoint that only says that it was done.
type nothing struct{}
