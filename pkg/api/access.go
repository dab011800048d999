package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/rbac"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// accessEndpoints tell who may do what.
func accessEndpoints(server *Server) {
	s := &permits{Store: server.Store, grants: server.grants}
	tags := []string{"Access"}
	exempt(server, action.Self, huma.Operation{
		OperationID: "canI", Method: http.MethodGet, Path: "/v1/access/can", Tags: tags,
		Summary: "Say whether the caller may do something",
	}, s.can)
	exempt(server, action.Self, huma.Operation{
		OperationID: "listBuiltIn", Method: http.MethodGet, Path: "/v1/access/built-in", Tags: tags,
		Summary: "List the roles and the resource groups that a scope has without their being saved",
	}, s.builtIn)
	handle(server, action.AccessExplain, huma.Operation{
		OperationID: "explainAccess", Method: http.MethodGet, Path: "/v1/access/explain", Tags: tags,
		Summary: "Say whether a user or a service account may do something, and why",
	}, s.explain)
}

// permits answers who may do what.
type permits struct {
	Store  store.Store
	grants *grants.Reader
}

// asks is what somebody might do to what.
type asks struct {
	Scoped
	Action         action.Action `query:"action" required:"true" maxLength:"64" doc:"As docs/permissions.md has it, e.g. pipeline.run or entity.save"`
	Kind           ref.Kind      `query:"kind" maxLength:"64" doc:"The kind of document that an entity action is about"`
	ID             string        `query:"id" maxLength:"257" doc:"To what; none: to any of them"`
	User           string        `query:"user" maxLength:"128" doc:"The user who is asked about"`
	ServiceAccount string        `query:"serviceAccount" maxLength:"160" doc:"The service account that is asked about, as a reference from the scope"`
}

// permit is what a caller may of what is asked. What no token of the caller
// reaches it may not.
func (s *permits) permit(ctx context.Context, a *asks, who grants.Caller) (access.Permit, error) {
	out := access.Permit{Missing: []string{}}
	entry := s.grants.Entry(a.Action)
	if entry.Doc == "" {
		return out, invalid("there is no action %q; docs/permissions.md lists them", a.Action)
	}
	scope, err := anyScope(ctx, a.Scoped)
	if err != nil {
		return out, err
	}
	t := action.TypeOf(a.Kind)
	if entry.Verb != "" && t == "" {
		return out, invalid("the action %s is done to documents of a kind; want kind, found %q", a.Action, a.Kind)
	}
	d, err := who.Decide(ctx, a.Action, right.Resource{Type: t, Scope: scope, ID: a.ID})
	out.Allowed, out.By = d.Allowed, d.By
	out.Missing = append(out.Missing, action.Names(d.Missing)...)
	return out, err
}

// anyScope is the scope of a request, whether the caller's token reaches it or not.
func anyScope(ctx context.Context, in Scoped) (ref.Scope, error) {
	scope := ref.Scope{Account: caller(ctx).Scope.Account, Org: in.Org, Project: in.Project}
	if err := scope.Check(); err != nil || in.Project != "" && in.Org == "" {
		return scope, invalid("%s isn't a scope", scope)
	}
	return scope, nil
}

type permitAnswer struct{ Body access.Permit }

func (s *permits) can(ctx context.Context, in *asks) (*permitAnswer, error) {
	if in.User != "" || in.ServiceAccount != "" {
		return nil, invalid("this tells what the caller may; /v1/access/explain tells it of others")
	}
	p, err := s.permit(ctx, in, asker(ctx))
	return &permitAnswer{p}, err
}

func (s *permits) explain(ctx context.Context, in *asks) (*permitAnswer, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	if (in.User == "") == (in.ServiceAccount == "") {
		return nil, invalid("want one of user and serviceAccount")
	}
	key, err := principalOf(in.User, in.ServiceAccount, scope)
	if err != nil {
		return nil, err
	}
	saved, err := s.Store.Entity(ctx, key)
	if err != nil {
		return nil, err
	}
	who := asker(ctx).Other(key, saved.UpdatedAt, access.ActorOf(key))
	p, err := s.permit(ctx, in, who)
	if err != nil {
		return nil, err
	}
	rights, err := who.Rights(ctx, scope)
	for _, r := range rights {
		p.Rights = append(p.Rights, r.By)
	}
	return &permitAnswer{p}, err
}

// builtIn tells what docs/access.md does, of any scope: it is the same in all of a
// level.
func (s *permits) builtIn(ctx context.Context, in *Scoped) (*struct{ Body rbac.BuiltIn }, error) {
	scope, err := anyScope(ctx, *in)
	if err != nil {
		return nil, err
	}
	return &struct{ Body rbac.BuiltIn }{rbac.BuiltInOf(scope)}, nil
}
