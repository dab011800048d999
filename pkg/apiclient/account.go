package apiclient

import (
	"context"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/audit/stream"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// CreateToken makes a token for a scope.
func (c *Client) CreateToken(ctx context.Context, scope ref.Scope, in api.CreateToken) (api.NewToken, error) {
	return post[api.NewToken](ctx, c, path("tokens"), scoped(scope), in)
}

// Tokens lists tokens of a kind within a scope.
func (c *Client) Tokens(ctx context.Context, scope ref.Scope, kind store.TokenKind, p Page) ([]api.Token, string, error) {
	q := p.in(scoped(scope))
	q.Set("kind", string(kind))
	l, err := get[api.TokenList](ctx, c, path("tokens"), q)
	return l.Tokens, l.NextPageToken, err
}

// RotateToken makes a token like another one, which goes on for some hours.
func RotateToken(ctx context.Context, c *Client, id string, hours int) (api.NewToken, error) {
	in := struct {
		KeepHours int `json:"keepHours,omitempty"`
	}{hours}
	return post[api.NewToken](ctx, c, path("tokens", id, "rotate"), nil, in)
}

// RevokeToken revokes a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, request{method: http.MethodDelete, path: path("tokens", id)})
	return err
}

// RevokeFound revokes a token by its text, which is all that it takes.
func RevokeFound(ctx context.Context, c *Client, text string) error {
	_, err := post[struct{}](ctx, c, "/v1/tokens:revoke", nil, struct {
		Token string `json:"token"`
	}{text})
	return err
}

// Delegates lists delegates.
func (c *Client) Delegates(ctx context.Context, scope ref.Scope, p Page) ([]api.Delegate, string, error) {
	l, err := get[api.DelegateList](ctx, c, path("delegates"), p.in(scoped(scope)))
	return l.Delegates, l.NextPageToken, err
}

// AuditChoice says which records are meant, newest first. Its zero value means all of
// them, oldest first.
type AuditChoice struct {
	Newest                            bool
	Scope                             ref.Scope
	From, To, Actor, Action, Kind, ID string
}

// Audit reads the account's audit trail, or what is chosen of it.
func (c *Client) Audit(ctx context.Context, of AuditChoice, p Page) ([]audit.Record, string, error) {
	q := p.in(scoped(of.Scope))
	if of != (AuditChoice{}) {
		q.Set("newest", "true")
	}
	for name, value := range map[string]string{"from": of.From, "to": of.To, "actor": of.Actor, "action": of.Action, "kind": of.Kind, "id": of.ID} {
		set(q, name, value)
	}
	l, err := get[api.AuditList](ctx, c, path("audit"), q)
	return l.Records, l.NextPageToken, err
}

// AuditTrail reads the account's audit trail, oldest first, with what was removed
// from its beginning.
func AuditTrail(ctx context.Context, c *Client, p Page) (api.AuditList, error) {
	return get[api.AuditList](ctx, c, path("audit"), p.in(scoped(ref.Scope{})))
}

// AuditStreams tells how far the trail has come to its destinations.
func AuditStreams(ctx context.Context, c *Client) ([]stream.AuditStream, error) {
	l, err := get[stream.AuditStreams](ctx, c, path("audit", "destinations"), nil)
	return l.Destinations, err
}

// Issuer tells who signs the tokens that clouds trust, and by which keys.
func (c *Client) Issuer(ctx context.Context) (issuer.Status, error) {
	return get[issuer.Status](ctx, c, path("issuer"), nil)
}

// RotateIssuer makes a new key for them.
func (c *Client) RotateIssuer(ctx context.Context, in api.RotateIssuer) (issuer.Status, error) {
	return post[issuer.Status](ctx, c, path("issuer", "rotate"), nil, in)
}

// Who is somebody who is asked about; none: the caller.
type Who struct {
	User           string
	ServiceAccount string
}

// Ask is what somebody might do.
type Ask struct {
	Scope  ref.Scope
	Action action.Action
	Kind   ref.Kind
	ID     string
	Who    Who
}

// Can says whether somebody may do something. Of the caller it tells no other
// rights.
func (c *Client) Can(ctx context.Context, a Ask) (access.Permit, error) {
	q := scoped(a.Scope)
	q.Set("action", string(a.Action))
	for name, v := range map[string]string{"kind": string(a.Kind), "id": a.ID, "user": a.Who.User, "serviceAccount": a.Who.ServiceAccount} {
		set(q, name, v)
	}
	if a.Who == (Who{}) {
		return get[access.Permit](ctx, c, path("access", "can"), q)
	}
	return get[access.Permit](ctx, c, path("access", "explain"), q)
}
