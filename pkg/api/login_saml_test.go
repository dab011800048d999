package api_test

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testservers/samlidp"
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/login"
)

// federated is a server that people log in to by a provider of SAML.
type federated struct {
	*lobby
	idp *samlidp.Provider
}

func federation(t *testing.T, more string) *federated {
	t.Helper()
	f := &federated{people(t, ""), samlidp.New(t)}
	f.saml(more)
	f.idp.Trust(f.ask("GET", "/v1/login/saml/fed/metadata", "", "Authorization", "").body)
	f.idp.Person("ada@example.com", samlidp.Attributes{"groups": {"devs"}, "displayName": {"Ada"}})
	return f
}

// ask is a request of this machine.
func (f *federated) ask(method, path, body string, header ...string) answer {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8484"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return answer{t: f.t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

func (f *federated) saml(more string) {
	f.t.Helper()
	f.put("", "loginProvider:\n  identifier: fed\n  name: Federation\n  type: SAML\n  metadata: |\n    "+f.idp.Metadata()+"\n"+more)
}

var field = regexp.MustCompile(`name="(SAMLResponse|RelayState)" value="([^"]*)"`)

// asks begins a login at the provider: what it has the browser post, and the cookie
// that was kept meanwhile.
func (f *federated) asks(next string) (form url.Values, kept *http.Cookie) {
	f.t.Helper()
	resp, cookies := f.browse("/v1/login/saml/fed/start?next=" + url.QueryEscape(next))
	if resp.status != 302 || len(cookies) != 1 {
		f.t.Fatalf("start: %d to %s with %v", resp.status, resp.to, cookies)
	}
	at, err := http.DefaultTransport.RoundTrip(must(http.NewRequestWithContext(f.t.Context(), "GET", resp.to, nil)))
	if err != nil {
		f.t.Fatal(err)
	}
	page := must(io.ReadAll(at.Body))
	_ = at.Body.Close()
	form = url.Values{}
	for _, m := range field.FindAllSubmatch(page, -1) {
		form.Set(string(m[1]), html.UnescapeString(string(m[2])))
	}
	if !form.Has("SAMLResponse") {
		f.t.Fatalf("the provider answers %s", page)
	}
	return form, cookies[0]
}

// posts is what a browser does with the provider's form: where it is sent on to.
// Of another site's form it sends no cookie.
func (f *federated) posts(form url.Values) string {
	f.t.Helper()
	a := f.ask("POST", "/v1/login/saml/fed/acs", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site", "Origin", f.idp.URL)
	if a.status != 303 || a.header.Get("Set-Cookie") != "" {
		f.t.Fatalf("acs: %d %s %v", a.status, a.body, a.header)
	}
	return a.header.Get("Location")
}

// logsIn logs in: the session; nil and why there is none.
func (f *federated) logsIn(next string) (*http.Cookie, string) {
	f.t.Helper()
	form, kept := f.asks(next)
	return f.ends(f.posts(form), kept)
}

func (f *federated) ends(at string, kept ...*http.Cookie) (*http.Cookie, string) {
	f.t.Helper()
	if reason, failed := strings.CutPrefix(at, "/login?failed="); failed {
		return nil, reason
	}
	return f.finish(at, kept...)
}

func TestSomebodyLogsInBySAML(t *testing.T) {
	t.Parallel()
	f := federation(t, "")
	f.put("", "user: {identifier: ada, name: Ada, email: Ada@Example.com}")
	f.put(scope, "userGroup: {identifier: devs, name: Devs, ssoLinked: true, linkedSsoId: fed, linkedSsoType: SAML, ssoGroupId: devs}")
	f.put(scope, strings.Split(team, "\n---\n")[1])
	var ways login.Logins
	f.ask("GET", "/v1/login", "").want(200, &ways)
	if !slices.ContainsFunc(ways.Providers, func(w login.Way) bool { return w.ID == "fed" && w.Type == "SAML" && w.Issuer == "" }) {
		t.Errorf("the ways to log in are %+v", ways)
	}
	session, to := f.logsIn("/o/default/p/web?x=1")
	if session == nil || to != "/o/default/p/web?x=1" || session.SameSite != http.SameSiteLaxMode {
		t.Fatalf("sent to %s with %+v", to, session)
	}
	var who access.Whoami
	f.as(session, "GET", "/v1/whoami").want(200, &who)
	if who.Actor != "ada" || who.Token != "Federation" {
		t.Errorf("who logged in is %+v", who)
	}
	f.as(session, "GET", "/v1/executions"+scope).want(200, nil)
	f.idp.Person("ada@example.com", samlidp.Attributes{"groups": {"ops"}})
	session, _ = f.logsIn("/")
	f.as(session, "GET", "/v1/executions"+scope).problem(403)
	f.idp.Person("ada@example.com", samlidp.Attributes{"groups": {"ops, devs"}})
	session, _ = f.logsIn("/")
	f.as(session, "GET", "/v1/executions"+scope).want(200, nil)
	if told := f.trail(audit.Login); len(told) != 3 || told[0].After != "by the login provider fed" {
		t.Errorf("the audit trail tells %+v", told)
	}
	if resp, _ := f.browse("/v1/login/oidc/fed/start"); resp.status != 404 {
		t.Errorf("as if it spoke OpenID Connect: %d", resp.status)
	}
}

// saml_assertion_replayed_refused, and what else no browser that began nothing gets
// in by.
func TestALoginBySAMLIsFinishedOnceByWhoBeganIt(t *testing.T) {
	t.Parallel()
	f := federation(t, "  jit: {enabled: true}\n")
	form, kept := f.asks("/")
	at := f.posts(form)
	if _, why := f.ends(at); why != "expired" {
		t.Errorf("without the cookie: %s", why)
	}
	_, others := f.asks("/")
	if _, why := f.ends(at, others); why != "expired" {
		t.Errorf("with another login's cookie: %s", why)
	}
	if session, why := f.ends(at, kept); session == nil {
		t.Fatalf("not logged in: %s", why)
	}
	if _, why := f.ends(at, kept); why != "expired" {
		t.Errorf("the same page again: %s", why)
	}
	if _, why := f.ends(f.posts(form), kept); why != "expired" {
		t.Errorf("the same response again: %s", why)
	}
	// A response to somebody else's request, which that one has the browser post.
	form, _ = f.asks("/")
	mine, kept := f.asks("/")
	form.Set("RelayState", mine.Get("RelayState"))
	if _, why := f.ends(f.posts(form), kept); why != "unproved" {
		t.Errorf("a response to another request: %s", why)
	}
	form, kept = f.asks("/")
	at = f.posts(form)
	f.now = f.now.Add(time.Minute)
	if _, why := f.ends(at, kept); why != "expired" {
		t.Errorf("a minute later: %s", why)
	}
	f.now = f.now.Add(-time.Minute)
	form, _ = f.asks("/")
	form.Set("SAMLResponse", "x"+form.Get("SAMLResponse"))
	if _, why := f.ends(f.posts(form)); why != "unproved" {
		t.Errorf("a response that can't be read: %s", why)
	}
	f.ask("POST", "/v1/login/saml/fed/acs", "SAMLResponse="+strings.Repeat("A", 800<<10), "Content-Type", "application/x-www-form-urlencoded").problem(413)
	f.ask("POST", "/v1/login/saml/other/acs", form.Encode(), "Content-Type", "application/x-www-form-urlencoded").problem(404)
}

func TestResponsesThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	f := federation(t, "  jit: {enabled: true}\n")
	const here = "http://127.0.0.1:8484/v1/login/saml/fed/"
	send := func(state string) (*http.Cookie, string) {
		t.Helper()
		return f.ends(f.posts(url.Values{"SAMLResponse": {f.idp.Unasked(here+"acs", here+"metadata")}, "RelayState": {state}}))
	}
	if _, why := send(""); why != "expired" {
		t.Errorf("where it isn't allowed: %s", why)
	}
	f.saml("  jit: {enabled: true}\n  allowIdpInitiated: true\n")
	if session, to := send("/o/default"); session == nil || to != "/o/default" {
		t.Errorf("where it is allowed: %s", to)
	}
	if session, to := send("https://evil.example"); session == nil || to != "/" {
		t.Errorf("it leads to %s", to)
	}
	form := url.Values{"SAMLResponse": {f.idp.Unasked(here+"acs", here+"metadata")}}
	for _, want := range []string{"/", "expired"} { // saml_assertion_replayed_refused
		if _, to := f.ends(f.posts(form)); to != want {
			t.Errorf("the same response leads to %s; want %s", to, want)
		}
	}
	// What answers a request still needs who asked.
	form, kept := f.asks("/")
	form.Del("RelayState")
	if _, why := f.ends(f.posts(form), kept); why != "unproved" {
		t.Errorf("an answer without the state: %s", why)
	}
}

func TestWhoMayNotLogInBySAML(t *testing.T) {
	t.Parallel()
	ada := "user: {identifier: ada, name: Ada, email: ada@example.com}"
	for name, c := range map[string]struct {
		more string // of the provider
		name string // of the person
		why  login.Failure
	}{
		"no address":               {name: "ada", why: login.NoMail},
		"no attribute with one":    {more: "  emailAttribute: mail\n", name: "ada@example.com", why: login.NoMail},
		"another domain":           {more: "  allowedDomains: [corp.example]\n", name: "ada@example.com", why: login.Domain},
		"amr of another sort":      {more: "  requiredAmr: [https://refeds.org/profile/mfa]\n", name: "ada@example.com", why: login.Factor},
		"jit_off_unknown_user":     {name: "eve@example.com", why: login.Stranger},
		"jit_claim_mismatch":       {more: "  jit: {enabled: true, claimKey: groups, claimValue: ops}\n", name: "eve@example.com", why: login.Stranger},
		"for who is called other":  {more: "  entityId: urn:slipway\n", name: "ada@example.com"},
		"by a name for an address": {name: "Ada@Example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := federation(t, c.more)
			f.put("", ada)
			f.idp.Person(c.name, samlidp.Attributes{"groups": {"devs"}})
			if session, why := f.logsIn("/"); why != string(c.why) && (session == nil || c.why != "") {
				t.Errorf("ended with %s; want %s", why, c.why)
			}
			if told := f.trail(audit.LoginFailed); c.why != "" && (len(told) != 1 || told[0].Actor != "login provider fed" || !strings.HasPrefix(told[0].After, string(c.why))) {
				t.Errorf("the audit trail tells %+v", told)
			}
		})
	}
}

// What the provider encrypts by the certificate of our metadata, after a request that
// was signed by it, logs somebody in.
func TestALoginByAnEncryptedAssertion(t *testing.T) {
	t.Parallel()
	f := federation(t, "  signRequests: true\n")
	f.put("", "user: {identifier: ada, name: Ada, email: Ada@Example.com}")
	f.idp.Encrypt()
	session, why := f.logsIn("/executions")
	if session == nil {
		t.Fatalf("nobody is logged in: %s", why)
	}
}
