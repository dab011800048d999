package api

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// loginPaths is where sessions begin.
const loginPaths = "/v1/login/"

// consoleHeader is in every request of the console that changes something: no
// page of another origin can send it.
const consoleHeader = "X-Slipway-Console"

const (
	// secureCookie is the session's over TLS, where browsers take it of nobody
	// else. plainCookie is that of browsers on the server's own machine.
	secureCookie, plainCookie = "__Host-slipway", "slipway"
	// maxSessions is how many sessions an account has at once.
	maxSessions = 10_000
)

func (s *sessions) whoamiOf(t store.AccessToken) access.Whoami {
	return access.Whoami{
		Live: s.live, Actor: t.Actor, Principal: principalText(t.Principal), Kind: t.Kind, Token: t.Name, Account: t.Scope.Account, Org: t.Scope.Org, Project: t.Scope.Project, ExpiresAt: t.ExpiresAt, Version: s.Version,
	}
}

// sessions opens and ends the console's sessions.
type sessions struct {
	Store   store.Store
	Grants  *grants.Reader
	Now     func() time.Time
	Version string
	live    string // how pages hear of changes
}

func consoleSessions(server *Server) {
	s := &sessions{Store: server.Store, Grants: server.grants, Now: server.Now, Version: server.Version, live: access.LiveEvents}
	if server.Viewers != nil {
		s.live = access.LiveSocket
	}
	tags := []string{"Sessions"}
	exempt(server, action.Public, huma.Operation{
		OperationID: "loginByToken", Method: http.MethodPost, Path: loginPaths + "token", Tags: tags,
		Summary: "Open a session of the console with a token; the answer's cookie is it",
	}, s.loginByToken)
	exempt(server, action.Self, huma.Operation{
		OperationID: "logout", Method: http.MethodPost, Path: "/v1/logout", Tags: tags, Summary: "End the session that the request came with",
	}, s.logout)
	exempt(server, action.Self, huma.Operation{
		OperationID: "whoami", Method: http.MethodGet, Path: "/v1/whoami", Tags: tags, Summary: "Say who the caller is",
	}, s.whoami)
	s.links(server)
}

// loggedIn is the answer of a login: the cookie that is the session.
type loggedIn struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      access.Whoami
}

func (s *sessions) loginByToken(ctx context.Context, in *struct {
	Origin string `header:"Origin" maxLength:"512" doc:"The console's, as browsers tell it"`
	Body   struct {
		Token string `json:"token" minLength:"1" maxLength:"512" doc:"A token of the API"`
	}
}) (*loggedIn, error) {
	t, err := access.Verify(ctx, s.Store.Keys, in.Body.Token, s.Now())
	if err == nil {
		err = opens(t)
	}
	if err == nil {
		err = access.Use(ctx, s.Store.Keys, t, s.Now())
	}
	if err != nil {
		return nil, err
	}
	return s.open(ctx, t, in.Origin)
}

// opens says whether a token may open a session.
func opens(t store.AccessToken) error {
	switch {
	case t.Principal.Kind == ref.ServiceAccount:
		return fault.New(fault.Forbidden, "the token is the %s's, and programs open no session of the console; want one of a person", t.Actor)
	case t.Kind != store.TokenUser:
		return fault.New(fault.Forbidden, "a %s token opens no session; want one of the API, as slipway token create makes it", t.Kind)
	}
	return nil
}

// open begins a session that has the rights of a token.
func (s *sessions) open(ctx context.Context, of store.AccessToken, origin string) (*loggedIn, error) {
	id, err := s.freeSession(ctx, of.Scope.Account)
	if err != nil {
		return nil, err
	}
	set, err := s.Grants.Settings(ctx, ref.Scope{Account: of.Scope.Account})
	if err != nil {
		return nil, err
	}
	t, text := access.Mint(access.Grant{
		Kind: store.TokenSession, ID: id, Scope: of.Scope, Name: of.Name, Actor: of.Actor, Of: of.ID, Principal: of.Principal, Login: of.Login, ExpiresAt: s.Now().Add(set.Session()),
	}, s.Now())
	cookie, err := cookieFor(origin, text, lasts(t))
	if err != nil {
		return nil, err
	}
	if err := s.Store.PutToken(ctx, t); err != nil {
		return nil, err
	}
	return &loggedIn{cookie, s.whoamiOf(t)}, s.auditSession(ctx, audit.Login, t)
}

// lasts is how long a session lasts, in seconds.
func lasts(t store.AccessToken) int { return int(t.ExpiresAt.Sub(t.CreatedAt) / time.Second) }

// freeSession is the id of a session that has ended, in whose place the next
// one comes; empty if there is none. So there are no more records than there
// were sessions at once.
func (s *sessions) freeSession(ctx context.Context, account string) (string, error) {
	all, err := s.Store.ListTokens(ctx, account, store.TokenSession)
	if err != nil {
		return "", err
	}
	for _, t := range all {
		if t.Revoked || s.Now().After(t.ExpiresAt) {
			return t.ID, nil
		}
	}
	if len(all) >= maxSessions {
		return "", fault.New(fault.TooMany, "there are %d sessions; log out of one, or wait until one ends", len(all))
	}
	return "", nil
}

func (s *sessions) auditSession(ctx context.Context, a audit.Action, t store.AccessToken) error {
	_, err := s.Store.AppendAudit(ctx, audit.Record{
		Time: s.Now(), Actor: t.Actor, Scope: t.Scope, Action: a, Kind: "session", ID: t.ID, After: "with the token " + t.Of, Request: requestID(ctx),
	})
	return err
}

func (s *sessions) logout(ctx context.Context, in *struct {
	Origin string `header:"Origin" maxLength:"512" doc:"The console's, as browsers tell it"`
}) (*struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}, error) {
	t := caller(ctx)
	if t.Kind != store.TokenSession {
		return nil, invalid("the request came with a token, and a token isn't logged out; DELETE /v1/tokens/%s revokes it", t.ID)
	}
	cookie, err := cookieFor(in.Origin, "", -1)
	if err != nil {
		return nil, err
	}
	t.Revoked = true
	if err := s.Store.PutToken(ctx, t); err != nil {
		return nil, err
	}
	return &struct {
		SetCookie http.Cookie `header:"Set-Cookie"`
	}{cookie}, s.auditSession(ctx, audit.Logout, t)
}

func (s *sessions) whoami(ctx context.Context, _ *struct{}) (*struct{ Body access.Whoami }, error) {
	who := s.whoamiOf(caller(ctx))
	set, err := s.Grants.Settings(ctx, ref.Scope{Account: who.Account})
	who.Banner = set.Banner.At(s.Now())
	return &struct{ Body access.Whoami }{who}, err
}

// cookieFor is the cookie of a page of some origin. Over plain HTTP it stays on
// the machine: on the way somebody could read it.
func cookieFor(origin, session string, seconds int) (http.Cookie, error) {
	name, at := secureCookie, &url.URL{}
	if u, err := url.Parse(origin); err == nil {
		at = u
	}
	if at.Scheme == "http" {
		name = plainCookie
		if !loopback(at.Hostname()) {
			return http.Cookie{}, invalid("the console was opened at %s, and without TLS whoever is on the way could take the session; open it by https, or on the server's machine at 127.0.0.1", origin)
		}
	}
	return http.Cookie{ //nolint:gosec // what is plain stays on the machine
		Name: name, Value: session, Path: "/", MaxAge: seconds, Secure: name == secureCookie, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// sessionOf is the session of a request; empty if there is none. That of plain
// HTTP counts on the machine only: elsewhere another site could have left it.
func sessionOf(r *http.Request) string {
	if c, err := r.Cookie(secureCookie); err == nil {
		return c.Value
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	if c, err := r.Cookie(plainCookie); err == nil && r.TLS == nil && loopback(host) {
		return c.Value
	}
	return ""
}

// ofConsole refuses what pages of other origins make a browser send.
func ofConsole(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil // changes nothing
	}
	if err := ofOrigin(r); err != nil {
		return err
	}
	if r.Header.Get(consoleHeader) != "1" {
		return fault.New(fault.Forbidden, "a request with a session's cookie needs the header %s: 1; programs send a token instead", consoleHeader)
	}
	return nil
}

// ofOrigin refuses what a browser says is of another origin.
func ofOrigin(r *http.Request) error {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return fault.New(fault.Forbidden, "the request comes from another origin than the console's: %w", err)
	}
	return nil
}
