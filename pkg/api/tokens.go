package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/printable"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Token is a credential without its secret part.
type Token struct {
	ID        string          `json:"id"`
	Kind      store.TokenKind `json:"kind" enum:"user,delegate"`
	Name      string          `json:"name"`
	Actor     string          `json:"actor" doc:"Who the bearer is, for audits"`
	Org       string          `json:"org,omitempty"`
	Project   string          `json:"project,omitempty"`
	Revoked   bool            `json:"revoked"`
	CreatedAt time.Time       `json:"createdAt"`
	Binding   *store.Binding  `json:"binding,omitempty" doc:"What the delegates of the token may be: its name is theirs, and these tags. None: what they say"`
}

// NewToken is a token that was just made: the only time that it is shown.
type NewToken struct {
	Token
	Secret string `json:"secret" doc:"The whole token. It is shown once and kept nowhere"`
}

// TokenList is a part of the list of tokens.
type TokenList struct {
	Tokens        []Token `json:"tokens" nullable:"false"`
	NextPageToken string  `json:"nextPageToken,omitempty"`
}

func tokenOf(t store.AccessToken) Token {
	return Token{
		ID: t.ID, Kind: t.Kind, Name: t.Name, Actor: t.Actor, Org: t.Scope.Org, Project: t.Scope.Project,
		Revoked: t.Revoked, CreatedAt: t.CreatedAt, Binding: t.Binding,
	}
}

func (s *Server) tokens() {
	tags := []string{"Tokens"}
	handle(s, action.TokenCreate, huma.Operation{
		OperationID: "createToken", Method: http.MethodPost, Path: "/v1/tokens", Tags: tags, Summary: "Make a token for a scope",
	}, s.createToken)
	handle(s, action.TokenView, huma.Operation{
		OperationID: "listTokens", Method: http.MethodGet, Path: "/v1/tokens", Tags: tags, Summary: "List tokens",
	}, s.listTokens)
	handle(s, action.TokenRevoke, huma.Operation{
		OperationID: "revokeToken", Method: http.MethodDelete, Path: "/v1/tokens/{token}", Tags: tags, Summary: "Revoke a token",
	}, s.revokeToken)
}

// CreateToken is the body of a request for a token.
type CreateToken struct {
	Kind    store.TokenKind `json:"kind" enum:"user,delegate"`
	Name    string          `json:"name" minLength:"1" maxLength:"128"`
	Actor   string          `json:"actor,omitempty" maxLength:"128" doc:"Who the bearer will be; none means who asks. Only an account's token may name another"`
	Binding *store.Binding  `json:"binding,omitempty" doc:"Of a delegate's token: its delegates have its name, and of these tags some, or all if they say none. None: they say what they like"`
}

func (s *Server) createToken(ctx context.Context, in *struct {
	Scoped
	Keyed
	Body    CreateToken
	RawBody []byte
}) (*struct{ Body NewToken }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	if !printable.Clean(in.Body.Name) || !printable.Clean(in.Body.Actor) {
		return nil, invalid("a token's name and its actor are shown in lists; %q and %q aren't all of characters that can be seen", in.Body.Name, in.Body.Actor)
	}
	if err := checkBinding(in.Body); err != nil {
		return nil, err
	}
	by := caller(ctx)
	actor := cmp.Or(in.Body.Actor, by.Actor)
	if actor != by.Actor && by.Scope.Org != "" {
		return nil, fault.New(fault.Forbidden, "a token for %s can't make one for the actor %q", by.Scope, actor)
	}
	// What is remembered for the key has no secret in it, so that a repetition
	// can't show it again.
	t, secret := access.Mint(access.Grant{Kind: in.Body.Kind, Scope: scope, Name: in.Body.Name, Actor: actor, Binding: in.Body.Binding}, s.Now())
	made, err := once(ctx, s.kept, in.Keyed, in.RawBody, "createToken", func(string) (Token, error) {
		if err := s.Store.PutToken(ctx, t); err != nil {
			return Token{}, err
		}
		return tokenOf(t), s.auditToken(ctx, audit.CreateToken, t)
	})
	if err != nil {
		return nil, err
	}
	if made.ID != t.ID {
		return nil, fault.New(fault.Conflict, "this request made token %s before, and a token is shown once; revoke it and make another", made.ID)
	}
	return &struct{ Body NewToken }{NewToken{Token: made, Secret: secret}}, nil
}

// checkBinding says what is wrong with the binding that is asked for.
func checkBinding(c CreateToken) error {
	if c.Binding == nil {
		return nil
	}
	if c.Kind != store.TokenDelegate {
		return invalid("a token of the kind %s has no binding; only delegates have tags", c.Kind)
	}
	if slices.Contains(c.Binding.Tags, "") {
		return invalid("the token %s has an empty tag", c.Name)
	}
	return checkTags("the token "+c.Name, c.Binding.Tags)
}

func (s *Server) auditToken(ctx context.Context, a audit.Action, t store.AccessToken) error {
	_, err := s.Store.AppendAudit(ctx, audit.Record{
		Time: s.Now(), Actor: caller(ctx).Actor, Scope: t.Scope, Action: a, Kind: "token", ID: t.ID,
		After: string(t.Kind) + " " + t.Name + " for " + t.Actor + bindingText(t.Binding), Request: requestID(ctx),
	})
	return err
}

// bindingText tells of a binding in the audit trail.
func bindingText(b *store.Binding) string {
	if b == nil {
		return ""
	}
	text := ", bound to the tags [" + strings.Join(b.Tags, ", ") + "]"
	if b.NamedSecrets {
		text += " and the secrets that documents name"
	}
	return text
}

func (s *Server) listTokens(ctx context.Context, in *struct {
	Scoped
	Paged
	Kind store.TokenKind `query:"kind" enum:"user,delegate" default:"user"`
}) (*struct{ Body TokenList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.Store.ListTokens(ctx, scope.Account, in.Kind)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t store.AccessToken) bool { return !scope.Covers(t.Scope) })
	part, next, err := paginate(all, func(t store.AccessToken) string { return t.Name + " " + t.ID }, in.Paged)
	if err != nil {
		return nil, err
	}
	out := TokenList{Tokens: make([]Token, len(part)), NextPageToken: next}
	for i, t := range part {
		out.Tokens[i] = tokenOf(t)
	}
	return &struct{ Body TokenList }{out}, nil
}

// ofToken names a token in the path.
type ofToken struct {
	ID string `path:"token" maxLength:"128"`
}

// about is the token's scope. A token of another is as good as none.
func (in ofToken) about(ctx context.Context, s *Server) (access.Resource, error) {
	t, err := s.Store.Token(ctx, in.ID)
	if err == nil && !caller(ctx).Scope.Covers(t.Scope) {
		err = notFound("no token %q", in.ID)
	}
	return access.Resource{Scope: t.Scope}, err
}

func (s *Server) revokeToken(ctx context.Context, in *ofToken) (*nothing, error) {
	t, err := s.Store.Token(ctx, in.ID)
	if err != nil || t.Revoked {
		return nil, err
	}
	t.Revoked = true
	if err := s.Store.PutToken(ctx, t); err != nil {
		return nil, err
	}
	return nil, s.auditToken(ctx, audit.RevokeToken, t)
}
