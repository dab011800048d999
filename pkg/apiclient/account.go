package apiclient

import (
	"context"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
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

// RevokeToken revokes a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, request{method: http.MethodDelete, path: path("tokens", id)})
	return err
}

// Delegates lists delegates.
func (c *Client) Delegates(ctx context.Context, scope ref.Scope, p Page) ([]api.Delegate, string, error) {
	l, err := get[api.DelegateList](ctx, c, path("delegates"), p.in(scoped(scope)))
	return l.Delegates, l.NextPageToken, err
}

// Audit reads the account's audit trail.
func (c *Client) Audit(ctx context.Context, p Page) ([]audit.Record, string, error) {
	l, err := get[api.AuditList](ctx, c, path("audit"), p.in(scoped(ref.Scope{})))
	return l.Records, l.NextPageToken, err
}

// Issuer tells who signs the tokens that clouds trust, and by which keys.
func (c *Client) Issuer(ctx context.Context) (issuer.Status, error) {
	return get[issuer.Status](ctx, c, path("issuer"), nil)
}

// RotateIssuer makes a new key for them.
func (c *Client) RotateIssuer(ctx context.Context, in api.RotateIssuer) (issuer.Status, error) {
	return post[issuer.Status](ctx, c, path("issuer", "rotate"), nil, in)
}
