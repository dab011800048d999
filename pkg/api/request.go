package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// RequestIDHeader carries a request's id: the caller's, or one of ours.
const RequestIDHeader = "X-Request-Id"

// delegatePaths is where delegates speak; everything else is for people.
const delegatePaths = "/v1/delegate/"

// healthPath tells load balancers that the process lives. It answers without
// a body. It, linkPaths, foundPath, waysPath, loginPaths, issuer.Path and deliveries of webhooks are all that needs no token.
const healthPath = "/healthz"

// linkPaths is where people answer approvals by one-time links.
const linkPaths = "/v1/approvals/"

type (
	requestIDKey struct{}
	callerKey    struct{}
	askerKey     struct{}
)

// identify gives the request its id.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(RequestIDHeader)
		if !plain(id) {
			id = rand.Text()[:16]
		}
		w.Header().Set(RequestIDHeader, id)
		w.Header().Set("X-Content-Type-Options", "nosniff") // what others wrote isn't a page of ours
		w.Header().Set("Cache-Control", "no-store")         // tokens, secrets' names and logs; schemas say otherwise
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// plain says whether a caller's request id is fit for logs.
func plain(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' })
}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// guard ends a request whose handler breaks, and nothing but it.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				s.refuse(w, r, fmt.Errorf("%s %s: the handler broke: %v", r.Method, r.URL.Path, p))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// webhookPaths is where Git hosts and others send what happened. They have no
// token: what proves them is pkg/trigger/firing's to check.
const webhookPaths = "/webhooks/"

// authenticate lets known callers through: delegates to their endpoints,
// people to all others but schemas, keys of tokens and webhooks, which are open. Endpoints can't forget to ask.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if strings.HasPrefix(r.URL.Path, webhookPaths) {
			if err := signs(r); err != nil {
				s.refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if opensDoor(r.URL.Path) && !describesSAML(r) {
			if err := s.rates.knocks(w, r); err != nil {
				s.refuse(w, r, err)
				return
			}
		}
		if strings.HasPrefix(r.URL.Path, schemaPaths) || strings.HasPrefix(r.URL.Path, issuer.Path) || r.URL.Path == foundPath || describesSAML(r) {
			next.ServeHTTP(w, r) // what anybody may read, and the end of a token, which proves whose it is
			return
		}
		if strings.HasPrefix(r.URL.Path, linkPaths) { // a link proves by itself who may answer
			if err := s.gate.letsIn(r.Context(), allowlist.UI); err != nil {
				s.refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == waysPath || strings.HasPrefix(r.URL.Path, loginPaths) { // what is shown there proves who it is
			err := enters(r)
			if err == nil {
				err = s.gate.letsIn(r.Context(), entrance(r))
			}
			if err != nil {
				s.refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		t, err := known(r, s.Store.Keys, s.Now)
		if err == nil {
			err = admit(t, r.URL.Path)
		}
		if err == nil {
			err = s.rates.asks(w, t)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		who := s.grants.Caller(t.Identity(), t.Actor)
		if source := sourceOf(t.Kind); source != "" {
			who = who.From(s.gate.from(r.Context(), source))
		}
		err = stays(r.Context(), t, who)
		var set setting.Settings
		if err == nil {
			set, err = who.Open(r.Context(), t, s.Now())
		}
		if err == nil {
			err = who.Admitted(r.Context())
			if fault.Is(err, fault.Forbidden) {
				err = cmp.Or(s.gate.turnedAway(r.Context(), t, who.Origin()), err)
			}
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		if err := cmp.Or(access.Use(r.Context(), s.Store.Keys, t, s.Now()), sees(r, s.Store.Keys, t, set, s.Now())); err != nil {
			s.Log.WarnContext(r.Context(), "lost that a token or a session was used", "error", err)
		}
		ctx := context.WithValue(r.Context(), callerKey{}, t)
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, askerKey{}, who)))
	})
}

// stays refuses the tokens and the sessions of a user who is disabled or deleted.
func stays(ctx context.Context, t store.AccessToken, who grants.Caller) error {
	if t.Principal.Kind != ref.User {
		return nil
	}
	active, err := who.Active(ctx)
	if err == nil && !active {
		err = fault.New(fault.Unauthenticated, "the user %s is disabled, or was deleted", t.Actor)
	}
	return err
}

// known finds who calls: by the token that a program sends, or by the session
// of the console, which a browser sends whatever page asks it to.
func known(r *http.Request, keys store.Keys, now func() time.Time) (store.AccessToken, error) {
	session := sessionOf(r)
	if text := bearer(r); text != "" || session == "" {
		return access.Verify(r.Context(), keys, text, now())
	}
	if err := ofConsole(r); err != nil {
		return store.AccessToken{}, err
	}
	return access.VerifySession(r.Context(), keys, session, now())
}

// take lets a request in whose body there is room for.
func (s *Server) take(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := s.Intake.enter(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// unread tells that the connection ends with the answer where a large body of
// a refused request would have to be read for another to come.
func unread(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody && (r.ContentLength < 0 || r.ContentLength > smallBody) {
		w.Header().Set("Connection", "close")
	}
}

func admit(t store.AccessToken, path string) error {
	if strings.HasPrefix(path, delegatePaths) != (t.Kind == store.TokenDelegate) {
		return fault.New(fault.Forbidden, "a %s token doesn't open %s; want the other kind of token", t.Kind, path)
	}
	return nil
}

// bearer is the token of a request, in either of the two headers.
func bearer(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	if _, password, given := r.BasicAuth(); given && r.URL.Path == freezeFeedPath { // calendar programs know nothing else
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// caller is whose token the request came with.
func caller(ctx context.Context) store.AccessToken {
	t, _ := ctx.Value(callerKey{}).(store.AccessToken)
	return t
}

// Scoped is the scope that a request is about. The account is the token's.
type Scoped struct {
	Org     string `query:"org" maxLength:"128" doc:"Organization; none means the account's own"`
	Project string `query:"project" maxLength:"128" doc:"Project of the organization; none means the organization's own"`
}

// scope is where the request goes, if the caller may go there.
func (q Scoped) scope(ctx context.Context) (ref.Scope, error) {
	t := caller(ctx)
	scope := ref.Scope{Account: t.Scope.Account, Org: q.Org, Project: q.Project}
	if q.Project != "" && q.Org == "" {
		return ref.Scope{}, invalid("project %q is given without its organization", q.Project)
	}
	if err := scope.Check(); err != nil {
		return ref.Scope{}, invalid("%w", err)
	}
	return scope, access.Check(t, scope)
}

func (q Scoped) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := q.scope(ctx)
	return right.Resource{Scope: scope}, err
}

// ofTheAccount is a request about the whole account.
type ofTheAccount struct{}

func (ofTheAccount) about(ctx context.Context, _ *Server) (right.Resource, error) {
	t := caller(ctx)
	account := ref.Scope{Account: t.Scope.Account}
	return right.Resource{Scope: account}, access.Check(t, account)
}

// asker is who asks: what the caller may is asked of it. There is always one
// where there is a caller; without one nothing is allowed.
func asker(ctx context.Context) grants.Caller {
	who, _ := ctx.Value(askerKey{}).(grants.Caller)
	return who
}

// Paged asks for a part of a list.
type Paged struct {
	Limit     int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"At most so many"`
	PageToken string `query:"pageToken" maxLength:"2048" doc:"nextPageToken of the part before; none for the first"`
}

func (p Paged) page() store.Page { return store.Page{Limit: p.Limit, Token: p.PageToken} }
