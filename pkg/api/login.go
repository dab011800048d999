package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// waysPath tells how people log in.
	waysPath = "/v1/login"
	// exchangePath ends the paths at which programs log people in: no browser has
	// anything to do with them.
	exchangePath = "/exchange"
	// acsPath ends the paths at which providers of SAML have browsers post what they
	// say: each comes from another site.
	acsPath = "/acs"
	// maxForm bounds such a form, in bytes: what it holds is in base64, with each
	// third character or so written as three.
	maxForm = 768 << 10
	// formResponse and formState are its fields.
	formResponse, formState = "SAMLResponse", "RelayState"
	// secureAttempt and plainAttempt are the cookies of a login that was begun.
	secureAttempt, plainAttempt = "__Host-slipway-login", "slipway-login"
)

// logins logs people in by providers; Desk is nil where that is served elsewhere.
type logins struct {
	*sessions

	Desk *login.Desk
}

func loginProviders(server *Server) {
	s := &logins{&sessions{Store: server.Store, Grants: server.grants, Now: server.Now, Version: server.Version}, server.Login}
	tags := []string{"Sessions"}
	open := []map[string][]string{{}}
	exempt(server, action.Public, huma.Operation{
		OperationID: "listLogins", Method: http.MethodGet, Path: waysPath, Tags: tags, Security: open,
		Summary: "List the identity providers that people log in by; it needs no token",
	}, s.ways)
	one, asserted := loginPaths+"oidc/{provider}", loginPaths+"saml/{provider}"
	exempt(server, action.Public, huma.Operation{
		OperationID: "startLogin", Method: http.MethodGet, Path: one + "/start", Tags: tags, Security: open,
		Summary: "Send a browser to an identity provider to log in", DefaultStatus: http.StatusFound,
	}, s.start)
	exempt(server, action.Public, huma.Operation{
		OperationID: "finishLogin", Method: http.MethodGet, Path: one + "/callback", Tags: tags, Security: open,
		Summary: "Take a browser back from an identity provider; the answer's cookie is a session", DefaultStatus: http.StatusFound,
	}, s.callback)
	exempt(server, action.Public, huma.Operation{
		OperationID: "exchangeLogin", Method: http.MethodPost, Path: one + exchangePath, Tags: tags, Security: open,
		Summary: "Swap an identity provider's token for one of the API, at a terminal",
	}, s.exchange)
	exempt(server, action.Public, huma.Operation{
		OperationID: "startSAMLLogin", Method: http.MethodGet, Path: asserted + "/start", Tags: tags, Security: open,
		Summary: "Send a browser to an identity provider that speaks SAML to log in", DefaultStatus: http.StatusFound,
	}, s.start)
	exempt(server, action.Public, huma.Operation{
		OperationID: "receiveSAMLResponse", Method: http.MethodPost, Path: asserted + acsPath, Tags: tags, Security: open, MaxBodyBytes: maxForm,
		Summary: "Take what an identity provider has a browser post, and send the browser on to finish the login", DefaultStatus: http.StatusSeeOther,
	}, s.receive)
	exempt(server, action.Public, huma.Operation{
		OperationID: "finishSAMLLogin", Method: http.MethodGet, Path: asserted + "/callback", Tags: tags, Security: open,
		Summary: "Finish a login by SAML; the answer's cookie is a session", DefaultStatus: http.StatusFound,
	}, s.callback)
	exempt(server, action.Public, huma.Operation{
		OperationID: "describeSAMLLogin", Method: http.MethodGet, Path: asserted + metadataPath, Tags: tags, Security: open,
		Summary: "Give the metadata of SAML that an identity provider is told",
	}, s.describe)
	s.locals(server)
	s.workloads(server)
	directory := loginPaths + "ldap/{provider}"
	exempt(server, action.Public, huma.Operation{
		OperationID: "loginByPassword", Method: http.MethodPost, Path: directory, Tags: tags, Security: open,
		Summary: "Open a session of the console with a password that an LDAP directory takes; the answer's cookie is it",
	}, s.password)
	exempt(server, action.Public, huma.Operation{
		OperationID: "exchangePassword", Method: http.MethodPost, Path: directory + exchangePath, Tags: tags, Security: open,
		Summary: "Swap a password that an LDAP directory takes for a token of the API, at a terminal",
	}, s.exchangePassword)
}

// metadataPath ends the paths at which providers read what they are told of Slipway.
const metadataPath = "/metadata"

// describesSAML says whether a request is for what providers are told: they fetch it, from
// wherever they are.
func describesSAML(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, loginPaths+"saml/") && strings.HasSuffix(r.URL.Path, metadataPath)
}

// entrance is by what somebody who logs in is going to ask.
func entrance(r *http.Request) allowlist.Source {
	if strings.HasSuffix(r.URL.Path, exchangePath) || r.URL.Path == workloadPath {
		return allowlist.API
	}
	return allowlist.UI
}

// enters refuses what pages of other origins make a browser send to where people
// log in, but for what proves itself.
func enters(r *http.Request) error {
	switch {
	case strings.HasSuffix(r.URL.Path, acsPath):
		return nil // a provider has signed it, and it logs nobody in
	case strings.HasSuffix(r.URL.Path, exchangePath), r.URL.Path == workloadPath:
		return ofOrigin(r)
	}
	return ofConsole(r)
}

func (s *logins) ways(ctx context.Context, in *struct {
	Failed string `query:"failed" maxLength:"64" doc:"Why a login failed, as the page's address says it"`
}) (*struct{ Body login.Logins }, error) {
	out := login.Logins{Providers: []login.Way{}}
	if in.Failed != "" {
		out.Problem = login.Failure(in.Failed).Sentence()
	}
	if s.Desk == nil {
		return &struct{ Body login.Logins }{out}, nil
	}
	set, err := s.Grants.Settings(ctx, ref.Scope{Account: s.Desk.Account})
	if err != nil {
		return nil, err
	}
	out.Banner, out.Passwords = set.Banner.At(s.Now()), s.keeps()
	out.Providers, err = s.Desk.Ways(ctx)
	return &struct{ Body login.Logins }{out}, err
}

// reached is where a request came in, and the type of provider that it is about.
type reached struct {
	host, typ string
	tls       bool
}

func (r *reached) at(ctx huma.Context) {
	r.host, r.typ, r.tls = ctx.Host(), sso.OIDC, ctx.TLS() != nil
	if strings.HasPrefix(ctx.Operation().Path, loginPaths+"saml/") {
		r.typ = sso.SAML
	}
}

// starting is a browser that is to be sent to a provider.
type starting struct {
	reached

	Provider string `path:"provider" maxLength:"128"`
	Next     string `query:"next" maxLength:"2048" doc:"The page to go on to"`
}

// Resolve keeps where it came in (huma.Resolver).
func (s *starting) Resolve(ctx huma.Context) []error {
	s.at(ctx)
	return nil
}

// returning is one that comes back.
type returning struct {
	reached

	Provider string `path:"provider" maxLength:"128"`
	Code     string `query:"code" maxLength:"4096"`
	State    string `query:"state" maxLength:"512"`
	Error    string `query:"error" maxLength:"256" doc:"Why the provider let nobody in"`
	Secure   string `cookie:"__Host-slipway-login" maxLength:"8192"`
	Plain    string `cookie:"slipway-login" maxLength:"8192"`
}

// Resolve keeps where it came in (huma.Resolver).
func (r *returning) Resolve(ctx huma.Context) []error {
	r.at(ctx)
	return nil
}

// sent is an answer that sends a browser on.
type sent struct {
	Location  string        `header:"Location"`
	SetCookie []http.Cookie `header:"Set-Cookie"`
}

func (s *logins) start(ctx context.Context, in *starting) (*sent, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	base, err := s.Desk.Base(in.host, in.tls)
	if err != nil {
		return failed(err)
	}
	address, sealed, err := s.Desk.Start(ctx, in.typ, in.Provider, base, inside(in.Next))
	if err != nil {
		return failed(err)
	}
	cookie, err := attemptCookie(base, sealed, int(login.AttemptAge/time.Second))
	return &sent{Location: address, SetCookie: []http.Cookie{cookie}}, err
}

// posted is a form that a provider has a browser post.
type posted struct {
	reached

	Provider string `path:"provider" maxLength:"128"`
	RawBody  []byte `contentType:"application/x-www-form-urlencoded"`
}

// Resolve keeps where it came in (huma.Resolver).
func (p *posted) Resolve(ctx huma.Context) []error {
	p.at(ctx)
	return nil
}

func (s *logins) receive(ctx context.Context, in *posted) (*sent, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	base, err := s.Desk.Base(in.host, in.tls)
	if err != nil {
		return failed(err)
	}
	form, err := url.ParseQuery(string(in.RawBody))
	if err != nil {
		return nil, invalid("the form can't be read")
	}
	next, err := s.Desk.Receive(ctx, in.Provider, base, form.Get(formResponse), form.Get(formState), requestID(ctx))
	if err != nil {
		return failed(err)
	}
	return &sent{Location: next}, nil
}

func (s *logins) describe(ctx context.Context, in *starting) (*struct {
	Type string `header:"Content-Type"`
	Body []byte
}, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	base, err := s.Desk.Base(in.host, in.tls)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s", login.NoAddress.Sentence())
	}
	text, err := s.Desk.Describe(ctx, in.Provider, base)
	return &struct {
		Type string `header:"Content-Type"`
		Body []byte
	}{"application/samlmetadata+xml", text}, err
}

func (s *logins) callback(ctx context.Context, in *returning) (*sent, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	base, err := s.Desk.Base(in.host, in.tls)
	if err != nil {
		return failed(err)
	}
	b := login.Back{Code: in.Code, State: in.State, Error: in.Error, Sealed: in.Secure, Request: requestID(ctx)}
	if strings.HasPrefix(base, "http://") {
		b.Sealed = in.Plain
	}
	over, err := attemptCookie(base, "", -1)
	if err != nil {
		return nil, err
	}
	who, next, err := s.Desk.Finish(ctx, in.typ, in.Provider, b)
	if err != nil {
		out, err := failed(err)
		if out != nil {
			out.SetCookie = []http.Cookie{over}
		}
		return out, err
	}
	t, text, err := s.mintFor(ctx, who, store.TokenSession)
	if err != nil {
		return nil, err
	}
	session, err := cookieFor(base, text, lasts(t))
	if err != nil {
		return nil, err
	}
	return &sent{Location: inside(next), SetCookie: []http.Cookie{session, over}}, s.begun(ctx, who, t)
}

// mintFor makes a session or a token of who has logged in. It opens what the user
// may, and ends when a session does.
func (s *logins) mintFor(ctx context.Context, who login.Person, kind store.TokenKind) (store.AccessToken, string, error) {
	scope := ref.Scope{Account: who.User.Scope.Account}
	set, err := s.Grants.Settings(ctx, scope)
	if err != nil {
		return store.AccessToken{}, "", err
	}
	last := set.Session()
	if kind == store.TokenUser && set.MaxTokenLifetime > 0 {
		last = min(last, set.MaxTokenLifetime)
	}
	g := access.Grant{
		Kind: kind, Scope: scope, Name: who.Provider.Name, Actor: access.ActorOf(who.User), Principal: who.User, ExpiresAt: s.Now().Add(last),
		Login: store.LoggedIn{Provider: who.Provider.ID, AMR: who.AMR},
	}
	if kind == store.TokenSession {
		if g.ID, err = s.freeSession(ctx, g.Scope.Account); err != nil {
			return store.AccessToken{}, "", err
		}
	}
	t, text := access.Mint(g, s.Now())
	if err := s.Store.PutToken(ctx, t); err != nil {
		return store.AccessToken{}, "", err
	}
	if err = s.Desk.Stays(ctx, who); err == nil {
		return t, text, nil
	}
	t.Revoked = true
	return store.AccessToken{}, "", errors.Join(sentence(err), s.Store.PutToken(ctx, t))
}

// begun tells the audit trail of a login.
func (s *logins) begun(ctx context.Context, who login.Person, t store.AccessToken) error {
	_, err := s.Store.AppendAudit(ctx, audit.Record{
		Time: s.Now(), Actor: t.Actor, Scope: t.Scope, Action: audit.Login, Kind: string(t.Kind), ID: t.ID, After: how(who.Provider), Request: requestID(ctx),
	})
	return err
}

// how somebody has logged in, for the audit trail.
func how(p sso.Provider) string {
	if p.Type == sso.Local {
		return "by a password"
	}
	return "by the login provider " + p.ID
}

// failed sends a browser to the page that says why nobody was logged in. The
// sentence isn't in the address: nobody can have the page say another.
func failed(err error) (*sent, error) {
	var r *login.Refusal
	if !errors.As(err, &r) {
		return nil, err
	}
	return &sent{Location: "/login?failed=" + url.QueryEscape(string(r.Failure))}, nil
}

// inside is a page of the console, whatever an address says.
func inside(next string) string {
	if len(next) < 2 || next[0] != '/' || next[1] == '/' || strings.HasPrefix(next, "/login") || strings.ContainsFunc(next, func(c rune) bool { return c <= ' ' || c == '\\' || c > '~' }) {
		return "/"
	}
	return next
}

// attemptCookie keeps a login that was begun in the browser that began it. Unlike
// a page of another site, the provider sends it back with a link, which brings it.
func attemptCookie(base, sealed string, seconds int) (http.Cookie, error) {
	cookie, err := cookieFor(base, sealed, seconds) //nolint:gosec // it is what cookieFor says: plain on this machine alone
	if cookie.Name = secureAttempt; !cookie.Secure {
		cookie.Name = plainAttempt
	}
	return cookie, err
}

func nobodyLogsIn() error {
	return fault.New(fault.Unsupported, "nobody logs in by an identity provider at this address")
}

func (s *logins) exchange(ctx context.Context, in *struct {
	Provider string `path:"provider" maxLength:"128"`
	Body     struct {
		Token string `json:"idToken" minLength:"1" maxLength:"16384" doc:"The id_token that the provider gave to its client for the command line"`
	}
}) (*struct{ Body NewToken }, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	who, err := s.Desk.Exchange(ctx, in.Provider, in.Body.Token, requestID(ctx))
	if err != nil {
		return nil, sentence(err)
	}
	return s.token(ctx, who)
}

// token is one of the API for who has logged in at a terminal.
func (s *logins) token(ctx context.Context, who login.Person) (*struct{ Body NewToken }, error) {
	t, text, err := s.mintFor(ctx, who, store.TokenUser)
	if err != nil {
		return nil, err
	}
	return &struct{ Body NewToken }{NewToken{Token: tokenOf(t), Secret: text}}, s.begun(ctx, who, t)
}
