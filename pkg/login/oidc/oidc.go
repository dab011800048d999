// Package oidc asks identity providers that speak OpenID Connect who somebody is:
// by the code flow with PKCE, or by a token that a client at a terminal got.
//
// It checks what a provider says and knows no users: that is pkg/login's. A
// function that logs nobody in doesn't have it, nor its libraries.
package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/egress"
	"github.com/slipway-cd/slipway/pkg/login"
)

const (
	// each bounds a request to a provider.
	each = 10 * time.Second
	// maxAnswer bounds what a provider answers.
	maxAnswer = 1 << 20
	// known is how long what a provider says of itself counts. Its keys are asked
	// for when a token has one that isn't known.
	known = time.Hour
	// skew is how far its clock may be off.
	skew = time.Minute
	// fresh is how old a token may be that is shown at a terminal.
	fresh = 10 * time.Minute
)

// Client asks providers. It is for many goroutines.
type Client struct {
	http *http.Client
	now  func() time.Time

	mu        sync.Mutex
	providers map[string]remembered
}

type remembered struct {
	*oidc.Provider

	until time.Time
}

// New makes a Client, which reaches what users may have it reach (pkg/egress).
func New(inside bool, now func() time.Time) *Client {
	client := egress.Client(inside, each)
	client.Transport = bounded{client.Transport}
	return &Client{http: client, now: now, providers: map[string]remembered{}}
}

// bounded reads no more of an answer than that.
type bounded struct{ http.RoundTripper }

// RoundTrip asks.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err //nolint:wrapcheck // it is the transport's own
}

// provider is what a provider says of itself that people log in by.
func (c *Client) provider(ctx context.Context, issuer string) (*oidc.Provider, context.Context, error) {
	p, ctx, err := c.issuer(ctx, issuer)
	if err != nil {
		return nil, ctx, err
	}
	for _, address := range []string{p.Endpoint().AuthURL, p.Endpoint().TokenURL} {
		if err := sso.CheckAddress(address); err != nil {
			return nil, ctx, login.Refuse(login.Broken, fmt.Errorf("%s names the address %q: %w", issuer, address, err))
		}
	}
	return p, ctx, nil
}

// issuer is what an issuer of tokens says of itself, for an hour.
func (c *Client) issuer(ctx context.Context, issuer string) (*oidc.Provider, context.Context, error) {
	ctx = oidc.ClientContext(ctx, c.http)
	if err := sso.CheckAddress(issuer); err != nil {
		return nil, ctx, login.Refuse(login.Broken, fmt.Errorf("the issuer %s: %w", issuer, err))
	}
	c.mu.Lock()
	found := c.providers[issuer]
	c.mu.Unlock()
	if found.Provider != nil && c.now().Before(found.until) {
		return found.Provider, ctx, nil
	}
	// Its keys are asked for later, when this request is over.
	p, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		return nil, ctx, login.Refuse(login.Away, fmt.Errorf("ask %s who it is: %w", issuer, err))
	}
	var said struct {
		Keys     string `json:"jwks_uri"`
		UserInfo string `json:"userinfo_endpoint"`
	}
	if err := p.Claims(&said); err != nil {
		return nil, ctx, login.Refuse(login.Away, fmt.Errorf("read who %s is: %w", issuer, err))
	}
	addresses := []string{said.Keys}
	if said.UserInfo != "" {
		addresses = append(addresses, said.UserInfo)
	}
	for _, address := range addresses {
		if err := sso.CheckAddress(address); err != nil {
			return nil, ctx, login.Refuse(login.Broken, fmt.Errorf("%s names the address %q: %w", issuer, address, err))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.providers) >= 100 {
		clear(c.providers)
	}
	c.providers[issuer] = remembered{p, c.now().Add(known)}
	return p, ctx, nil
}

func client(p sso.Provider, secret, redirect string, at oauth2.Endpoint) *oauth2.Config {
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: secret, Endpoint: at, RedirectURL: redirect, Scopes: p.AllScopes()}
}

// Begin is the address at the provider where a login begins.
func (c *Client) Begin(ctx context.Context, p sso.Provider, a login.Attempt) (string, error) {
	at, _, err := c.provider(ctx, p.Issuer)
	if err != nil {
		return "", err
	}
	return client(p, "", a.Redirect, at.Endpoint()).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Redeem gives what the provider says of who comes back with a code.
func (c *Client) Redeem(ctx context.Context, p sso.Provider, clientSecret, code string, a login.Attempt) (login.Claims, error) {
	at, ctx, err := c.provider(ctx, p.Issuer)
	if err != nil {
		return login.Claims{}, err
	}
	token, err := client(p, clientSecret, a.Redirect, at.Endpoint()).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return login.Claims{}, login.Refuse(login.Unproved, fmt.Errorf("swap the code: %w", told(err)))
	}
	text, _ := token.Extra("id_token").(string)
	claims, err := c.verify(ctx, at, p.ClientID, text)
	if err != nil {
		return claims, err
	}
	nonce, _ := claims.All["nonce"].(string)
	if subtle.ConstantTimeCompare([]byte(nonce), []byte(a.Nonce)) != 1 {
		return claims, login.Refuse(login.Unproved, errors.New("the token's nonce isn't that of the login"))
	}
	return c.complete(ctx, at, p, claims, token)
}

// told is the error of an answer of a provider without what else it says.
func told(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return fmt.Errorf("the provider answers %s: %.100q", refused.Response.Status, refused.ErrorCode)
	}
	return err
}

// Verify gives what a token says that the provider has given to a client at a
// terminal.
func (c *Client) Verify(ctx context.Context, p sso.Provider, idToken string) (login.Claims, error) {
	at, ctx, err := c.provider(ctx, p.Issuer)
	if err != nil {
		return login.Claims{}, err
	}
	claims, err := c.verify(ctx, at, p.CLIClientID, idToken)
	if err != nil {
		return claims, err
	}
	if made, _ := claims.All["iat"].(float64); time.Unix(int64(made), 0).Before(c.now().Add(-fresh)) {
		return claims, login.Refuse(login.Expired, fmt.Errorf("the token was made more than %s ago", fresh))
	}
	return claims, nil
}

// verify checks a token: who made it and for whom, when, and that nobody else
// could have signed it.
func (c *Client) verify(ctx context.Context, at *oidc.Provider, clientID, text string) (login.Claims, error) {
	token, err := c.signed(ctx, at, clientID, text)
	if err != nil {
		return login.Claims{}, err
	}
	out := login.Claims{Subject: token.Subject}
	if err := token.Claims(&out.All); err != nil {
		return login.Claims{}, login.Refuse(login.Unproved, fmt.Errorf("read the token: %w", err))
	}
	party, named := out.All["azp"].(string)
	if len(token.Audience) > 1 && !named || named && party != clientID {
		return out, login.Refuse(login.Unproved, fmt.Errorf("the token: it was made for %q, and Slipway is %q", party, clientID))
	}
	return out, c.timely(token, out)
}

// signed is a token that a provider has signed for somebody. Times are checked
// elsewhere, with the same skew at both ends.
func (c *Client) signed(ctx context.Context, at *oidc.Provider, audience, text string) (*oidc.IDToken, error) {
	verifier := at.Verifier(&oidc.Config{
		ClientID: audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256, oidc.EdDSA}, SkipExpiryCheck: true, Now: c.now,
	})
	token, err := verifier.Verify(ctx, text)
	if err != nil {
		return nil, login.Refuse(login.Unproved, fmt.Errorf("the token: %w", err))
	}
	return token, nil
}

// Workload gives what a token says that an issuer has given to a program, for
// Slipway alone.
func (c *Client) Workload(ctx context.Context, p sso.Provider, text string) (login.Claims, error) {
	at, ctx, err := c.issuer(ctx, p.Issuer)
	if err != nil {
		return login.Claims{}, err
	}
	token, err := c.signed(ctx, at, p.Trust.Audience, text)
	if err != nil {
		return login.Claims{}, err
	}
	out := login.Claims{Subject: token.Subject}
	if err := token.Claims(&out.All); err != nil {
		return login.Claims{}, login.Refuse(login.Unproved, fmt.Errorf("read the token: %w", err))
	}
	if len(token.Audience) > 1 { // each of whom could show it here
		return out, login.Refuse(login.Unproved, fmt.Errorf("the token is for %.200q, and not for Slipway alone", token.Audience))
	}
	return out, c.timely(token, out)
}

// timely says whether a token counts now.
func (c *Client) timely(token *oidc.IDToken, out login.Claims) error {
	var err error
	now := c.now()
	switch {
	case token.Subject == "":
		err = errors.New("it names nobody")
	case !now.Before(token.Expiry.Add(skew)):
		err = fmt.Errorf("it ended at %s", token.Expiry.UTC().Format(time.RFC3339))
	case out.All["nbf"] != nil && !notBefore(out.All["nbf"], now.Add(skew)):
		err = errors.New("it doesn't count yet")
	case out.All["iat"] == nil, token.IssuedAt.After(now.Add(skew)):
		err = errors.New("it was made later than now, or doesn't say when")
	}
	if err != nil {
		return login.Refuse(login.Unproved, fmt.Errorf("the token: %w", err))
	}
	return nil
}

// notBefore says whether a claim is a time that isn't after another.
func notBefore(claim any, at time.Time) bool {
	seconds, ok := claim.(float64)
	return ok && !time.Unix(int64(seconds), 0).After(at)
}

// complete asks the provider for claims that its token leaves out.
func (c *Client) complete(ctx context.Context, at *oidc.Provider, p sso.Provider, known login.Claims, token *oauth2.Token) (login.Claims, error) {
	lacks := slices.ContainsFunc([]string{p.EmailClaim, p.GroupsClaim}, func(name string) bool { return known.All[name] == nil })
	if !lacks || at.UserInfoEndpoint() == "" {
		return known, nil
	}
	info, err := at.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return known, login.Refuse(login.Away, fmt.Errorf("ask for what the token leaves out: %w", err))
	}
	if info.Subject != known.Subject {
		return known, login.Refuse(login.Unproved, errors.New("the provider tells of somebody else than its token"))
	}
	var more map[string]any
	if err := info.Claims(&more); err != nil {
		return known, login.Refuse(login.Away, fmt.Errorf("read what the token leaves out: %w", err))
	}
	for name, value := range more {
		if _, said := known.All[name]; !said {
			known.All[name] = value
		}
	}
	return known, nil
}
