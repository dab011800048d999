package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/login"
)

// About is what a server tells of itself.
type About struct {
	Version string
	// Ahead is by how much the server's clock is ahead of this machine's, to
	// the second.
	Ahead time.Duration
	Took  time.Duration // of one request
}

// Health asks a server for its version and its disk.
func (c *Client) Health(ctx context.Context) (api.Health, error) {
	return get[api.Health](ctx, c, path("health"), nil)
}

// LoginLink makes a link that logs a browser in once.
func LoginLink(ctx context.Context, c *Client) (access.LoginLink, error) {
	return post[access.LoginLink](ctx, c, path("login-links"), nil, struct{}{})
}

// Logins lists the identity providers of a server; it needs no token.
func Logins(ctx context.Context, c *Client) (login.Logins, error) {
	return get[login.Logins](ctx, c, path("login"), nil)
}

// ExchangeLogin swaps what an identity provider gave to a program at a terminal for a
// token of the API.
func ExchangeLogin(ctx context.Context, c *Client, provider, idToken string) (api.NewToken, error) {
	return post[api.NewToken](ctx, c, path("login", "oidc", provider, "exchange"), nil, struct {
		Token string `json:"idToken"`
	}{idToken})
}

// ExchangePassword swaps a password that a directory takes for a token of the API.
func ExchangePassword(ctx context.Context, c *Client, provider, user, password string) (api.NewToken, error) {
	return post[api.NewToken](ctx, c, path("login", "ldap", provider, "exchange"), nil, struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}{user, password})
}

// About asks a server for its version and its clock.
func (c *Client) About(ctx context.Context) (About, error) {
	begun := time.Now()
	resp, err := c.send(ctx, request{method: http.MethodGet, path: "/openapi.json"})
	if err != nil {
		return About{}, err
	}
	defer resp.Body.Close()
	a := About{Took: time.Since(begun)}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		half := 500 * time.Millisecond // the header has whole seconds, rounded down
		a.Ahead = at.Add(half).Sub(begun.Add(a.Took / 2)).Round(time.Second)
	}
	var doc struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxRefusal)).Decode(&doc); err != nil {
		return About{}, fmt.Errorf("decode what the server tells of itself: %w", err)
	}
	a.Version = doc.Info.Version
	return a, nil
}
