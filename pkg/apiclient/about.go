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

// Whoami says who the caller is.
func Whoami(ctx context.Context, c *Client) (access.Whoami, error) {
	return get[access.Whoami](ctx, c, path("whoami"), nil)
}

// LocalLogin is what somebody types to log in by a password that Slipway keeps.
type LocalLogin struct {
	User     string `json:"user"`
	Password string `json:"password"`
	Code     string `json:"code,omitempty"` // of a second factor
}

// ExchangeLocal swaps such a password for a token of the API.
func ExchangeLocal(ctx context.Context, c *Client, in LocalLogin) (api.NewToken, error) {
	return post[api.NewToken](ctx, c, path("login", "local", "exchange"), nil, in)
}

// ExchangeWorkload swaps the token that an issuer gave to a program for one of a
// service account, by a trust rule, or by the one that takes it.
func ExchangeWorkload(ctx context.Context, c *Client, rule, token string) (api.NewToken, error) {
	return post[api.NewToken](ctx, c, path("login", "workload"), nil, struct {
		Token string `json:"token"`
		Rule  string `json:"rule,omitempty"`
	}{token, rule})
}

// SetPassword sets a user's password; who changes one's own shows the old one.
func SetPassword(ctx context.Context, c *Client, user, old, next string) error {
	in := struct {
		Password string `json:"password"`
		Old      string `json:"old,omitempty"`
	}{next, old}
	_, err := sendJSON[struct{}](ctx, c, request{method: http.MethodPut, path: path("users", user, "password")}, in)
	return err
}

// BeginSecondFactor begins a second factor of one's own.
func BeginSecondFactor(ctx context.Context, c *Client, user, password string) (login.Enrolment, error) {
	return post[login.Enrolment](ctx, c, path("users", user, "totp"), nil, struct {
		Password string `json:"password"`
	}{password})
}

// ConfirmSecondFactor shows a code of it: the recovery codes.
func ConfirmSecondFactor(ctx context.Context, c *Client, user, code string) (login.Recovery, error) {
	return post[login.Recovery](ctx, c, path("users", user, "totp", "confirm"), nil, struct {
		Code string `json:"code"`
	}{code})
}

// RemoveSecondFactor takes a user's second factor away.
func RemoveSecondFactor(ctx context.Context, c *Client, user string) error {
	_, err := call[struct{}](ctx, c, request{method: http.MethodDelete, path: path("users", user, "totp")})
	return err
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
