package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"github.com/slipway-cd/slipway/pkg/access/sso"
)

// ErrNoDevice says that a provider has no device flow.
var ErrNoDevice = errors.New("the provider has no device flow")

// Terminal is a provider's client for the command line, which has no secret.
type Terminal struct {
	Issuer, ClientID string
	Scopes           []string
}

// terminal is how a provider is asked at a terminal.
func (c *Client) terminal(ctx context.Context, t Terminal) (*oauth2.Config, context.Context, error) {
	at, ctx, err := c.provider(ctx, t.Issuer)
	if err != nil {
		return nil, ctx, err
	}
	endpoint := at.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams // a client without a secret names itself
	if endpoint.DeviceAuthURL != "" {
		if err := sso.CheckAddress(endpoint.DeviceAuthURL); err != nil {
			return nil, ctx, fmt.Errorf("%s names the address %q: %w", t.Issuer, endpoint.DeviceAuthURL, err)
		}
	}
	return &oauth2.Config{ClientID: t.ClientID, Endpoint: endpoint, Scopes: t.Scopes}, ctx, nil
}

// Device gets a token by the device flow (RFC 8628): show tells the person which
// page to open in any browser, and which code to compare there. It polls as slowly
// as the provider says, until that one gives a token or says no.
func (c *Client) Device(ctx context.Context, t Terminal, show func(page, code string) error) (string, error) {
	cfg, ctx, err := c.terminal(ctx, t)
	if err != nil {
		return "", err
	}
	if cfg.Endpoint.DeviceAuthURL == "" {
		return "", ErrNoDevice
	}
	asked, err := cfg.DeviceAuth(ctx)
	if err != nil {
		return "", fmt.Errorf("begin a login at %s: %w", t.Issuer, told(err))
	}
	page := cmp.Or(asked.VerificationURIComplete, asked.VerificationURI)
	if err := sso.CheckAddress(page); err != nil {
		return "", fmt.Errorf("%s names the page %q: %w", t.Issuer, page, err)
	}
	if err := show(page, asked.UserCode); err != nil {
		return "", err
	}
	token, err := cfg.DeviceAccessToken(ctx, asked)
	if err != nil {
		return "", fmt.Errorf("wait for the login at %s: %w", t.Issuer, told(err))
	}
	return idToken(t, token)
}

// waiting is how long a person may take in the browser.
const waiting = 10 * time.Minute

// Loopback gets a token by the code flow with PKCE, for which the browser comes
// back to this machine (RFC 8252): show tells the person which page to open.
func (c *Client) Loopback(ctx context.Context, t Terminal, show func(page string) error) (string, error) {
	cfg, ctx, err := c.terminal(ctx, t)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, waiting, fmt.Errorf("nobody has logged in within %s", waiting))
	defer cancel()
	var listen net.ListenConfig
	socket, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the browser: %w", err)
	}
	cfg.RedirectURL = "http://" + socket.Addr().String() + "/callback"
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	back := make(chan answered, 1)
	server := &http.Server{ReadHeaderTimeout: each, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/callback" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			http.NotFound(w, r) // who else knocks here
			return
		}
		select {
		case back <- answered{q.Get("code"), q.Get("error")}:
			_, _ = fmt.Fprintln(w, "You can close this page and go on at the terminal.") // whom it doesn't reach reads the terminal
		default:
			http.NotFound(w, r)
		}
	})}
	go func() { _ = server.Serve(socket) }() // it ends with this function
	defer server.Close()
	if err := show(cfg.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier))); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case a := <-back:
		if a.failure != "" {
			return "", fmt.Errorf("%s let nobody in: %.200q", t.Issuer, a.failure)
		}
		token, err := cfg.Exchange(ctx, a.code, oauth2.VerifierOption(verifier))
		if err != nil {
			return "", fmt.Errorf("swap the code at %s: %w", t.Issuer, told(err))
		}
		return idToken(t, token)
	}
}

// answered is what a provider sends a browser back with.
type answered struct{ code, failure string }

func idToken(t Terminal, token *oauth2.Token) (string, error) {
	text, _ := token.Extra("id_token").(string)
	if text == "" {
		return "", fmt.Errorf("%s gave a token that says nothing of who somebody is: the client's scopes need openid", t.Issuer)
	}
	return text, nil
}
