package api_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testservers/idp"
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/ldap"
	"github.com/slipway-cd/slipway/pkg/login/oidc"
	"github.com/slipway-cd/slipway/pkg/login/saml"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
)

// lobby is a server that people log in to by a provider, at this machine.
type lobby struct {
	*server
	idp *idp.Provider
	now time.Time
}

// people starts one. The provider's document has more keys as given.
func people(t *testing.T, more string) *lobby {
	t.Helper()
	l := &lobby{server: setup(t), idp: idp.New(t), now: time.Now()}
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return l.now }
	l.idp.At(now)
	keeper := secret.New(key, l.store, now)
	leaves := login.Leaves{Store: l.store, Now: now}
	l.cfg.Catalog = catalog.New(catalog.Config{Store: l.store, Secret: keeper, Options: builtin.Options(ref.Scope{}), Now: now, Saved: leaves.Saved})
	l.cfg.Now = now
	l.cfg.Login = login.New(login.Config{
		Account: "default", Store: l.store, Join: l.cfg.Catalog.Join, Secret: keeper, Protocols: login.Protocols{Tokens: oidc.New(true, now), Assertions: saml.New(true, now), Directory: ldap.New(true)}, Now: now, Log: slog.New(slog.DiscardHandler),
	})
	l.Server = api.New(l.cfg)
	l.put("", "secret: {identifier: idp, name: IdP, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: "+idp.ClientSecret+"}}")
	l.provider(more)
	l.idp.Person(idp.Claims{"sub": "ada-1", "email": "ada@example.com", "email_verified": true, "name": "Ada", "groups": []string{"devs"}})
	return l
}

// provider saves the document of the provider.
func (l *lobby) provider(more string) {
	l.t.Helper()
	l.put("", "loginProvider:\n  identifier: corp\n  name: Corp\n  type: OIDC\n  issuer: "+l.idp.URL+"\n  clientId: "+idp.ClientID+"\n  clientSecretRef: idp\n  cliClientId: "+idp.CLIClientID+"\n"+more)
}

// browse asks as a browser on this machine that follows a link.
func (l *lobby) browse(path string, cookies ...*http.Cookie) (sentOn, []*http.Cookie) {
	l.t.Helper()
	r := httptest.NewRequestWithContext(l.t.Context(), "GET", path, nil)
	r.Host = "127.0.0.1:8484"
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	resp := w.Result()
	_ = resp.Body.Close()
	return sentOn{resp.StatusCode, resp.Header.Get("Location")}, resp.Cookies()
}

// sentOn is where a browser is sent.
type sentOn struct {
	status int
	to     string
}

// begin begins a login, and comes back from the provider: with what, and the
// cookie that was kept meanwhile.
func (l *lobby) begin(next string) (back string, kept *http.Cookie) {
	l.t.Helper()
	resp, cookies := l.browse("/v1/login/oidc/corp/start?next=" + url.QueryEscape(next))
	if resp.status != 302 || len(cookies) != 1 {
		l.t.Fatalf("start: %d to %s with %v", resp.status, resp.to, cookies)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(l.t.Context(), "GET", resp.to, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	at, err := client.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	_ = at.Body.Close()
	to, err := url.Parse(at.Header.Get("Location"))
	if err != nil || to.Host != "127.0.0.1:8484" || to.Path != "/v1/login/oidc/corp/callback" {
		l.t.Fatalf("the provider sends to %s (%v)", to, err)
	}
	return to.RequestURI(), cookies[0]
}

// enter logs in: the session; nil and why there is none.
func (l *lobby) enter(next string) (session *http.Cookie, to string) {
	l.t.Helper()
	back, kept := l.begin(next)
	return l.finish(back, kept)
}

func (l *lobby) finish(back string, kept ...*http.Cookie) (session *http.Cookie, to string) {
	l.t.Helper()
	resp, cookies := l.browse(back, kept...)
	if resp.status != 302 {
		l.t.Fatalf("callback: %d", resp.status)
	}
	for _, c := range cookies {
		if c.Name == "slipway" {
			session = c
		}
	}
	to = resp.to
	if reason, failed := strings.CutPrefix(to, "/login?failed="); failed != (session == nil) {
		l.t.Fatalf("sent to %s with the session %v", to, session)
	} else if failed {
		return nil, reason
	}
	return session, to
}

// as asks with a session, as a page of the console on this machine.
func (l *lobby) as(c *http.Cookie, method, path string) answer {
	l.t.Helper()
	r := httptest.NewRequestWithContext(l.t.Context(), method, path, nil)
	r.Host = "127.0.0.1:8484"
	r.AddCookie(c)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("X-Slipway-Console", "1")
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return answer{t: l.t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

const team = "userGroup: {identifier: devs, name: Devs, ssoLinked: true, linkedSsoId: corp, linkedSsoType: OIDC, ssoGroupId: devs, externallyManaged: true}\n---\n" +
	"roleAssignment: {identifier: devs, roleIdentifier: _project_admin, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER_GROUP, identifier: devs}}"

// team saves a group of the project that the provider names, with its rights.
func (l *lobby) team() {
	l.t.Helper()
	for doc := range strings.SplitSeq(team, "\n---\n") {
		l.put(scope, doc)
	}
}

func (l *lobby) trail(a audit.Action) (found []audit.Record) {
	l.t.Helper()
	var records api.AuditList
	l.ask("GET", "/v1/audit?limit=500", "").want(200, &records)
	for _, r := range records.Records {
		if r.Action == a {
			found = append(found, r)
		}
	}
	return found
}

func TestSomebodyLogsInByAProvider(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	l.put("", "user: {identifier: ada, name: Ada, email: Ada@Example.com}")
	l.team()
	var ways login.Logins
	l.ask("GET", "/v1/login", "", "Authorization", "").want(200, &ways)
	if len(ways.Providers) != 1 || ways.Providers[0].Name != "Corp" || ways.Providers[0].ClientID != idp.CLIClientID || strings.Contains(string(l.ask("GET", "/v1/login", "", "Authorization", "").body), idp.ClientSecret) {
		t.Errorf("the ways to log in are %+v", ways)
	}
	session, to := l.enter("/o/default/p/web?x=1")
	if to != "/o/default/p/web?x=1" || !session.HttpOnly || session.SameSite != http.SameSiteLaxMode {
		t.Fatalf("sent to %s with %+v", to, session)
	}
	var who access.Whoami
	l.as(session, "GET", "/v1/whoami").want(200, &who)
	if who.Actor != "ada" || who.Principal != "user ada" || who.Token != "Corp" || who.Kind != store.TokenSession {
		t.Errorf("who logged in is %+v", who)
	}
	l.as(session, "GET", "/v1/executions"+scope).want(200, nil)
	l.as(session, "GET", "/v1/executions?org=default&project=shop").problem(403)
	if told := l.trail(audit.Login); len(told) != 1 || told[0].Actor != "ada" || told[0].After != "by the login provider corp" || strings.Contains(told[0].After+told[0].ID, session.Value) {
		t.Errorf("the audit trail tells %+v", told)
	}
	l.as(session, "POST", "/v1/logout").want(204, nil)
	l.as(session, "GET", "/v1/whoami").problem(401)
}

// TestLoginsLeaveNothing: what says that a login was finished is forgotten by later
// ones, so that nobody fills the disk by logging in.
func TestLoginsLeaveNothing(t *testing.T) {
	t.Parallel()
	l := people(t, "  jit: {enabled: true}\n")
	back, kept := l.begin("/")
	if session, why := l.finish(back, kept); session == nil {
		t.Fatalf("not logged in: %s", why)
	}
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	noted := func() error {
		_, err := l.store.Answer(t.Context(), fmt.Sprintf("login state %x", sha256.Sum256([]byte(u.Query().Get("state")))), time.Unix(0, 0)) // as if it hadn't ended
		return err
	}
	if err := noted(); err != nil {
		t.Fatal(err)
	}
	l.now = l.now.Add(3 * login.AttemptAge)
	if session, why := l.finish(l.begin("/")); session == nil {
		t.Fatalf("not logged in: %s", why)
	}
	if err := noted(); !fault.Is(err, fault.NotFound) {
		t.Errorf("the first login is still noted: %v", err)
	}
}

// oidc_state_cookie_replayed_refused, and what else no browser that began nothing
// gets in by.
func TestALoginIsFinishedOnceByWhoBeganIt(t *testing.T) {
	t.Parallel()
	l := people(t, "  jit: {enabled: true}\n")
	back, kept := l.begin("/")
	if _, why := l.finish(back); why != "expired" {
		t.Errorf("without the cookie: %s", why)
	}
	_, others := l.begin("/")
	if _, why := l.finish(back, others); why != "expired" {
		t.Errorf("with another login's cookie: %s", why)
	}
	bent := *kept
	bent.Value = kept.Value[:len(kept.Value)-2] + "AA"
	if _, why := l.finish(back, &bent); why != "expired" {
		t.Errorf("with a cookie that was changed: %s", why)
	}
	if session, why := l.finish(back, kept); session == nil {
		t.Fatalf("not logged in: %s", why)
	}
	if _, why := l.finish(back, kept); why != "expired" {
		t.Errorf("a second time: %s", why)
	}
	back, kept = l.begin("/")
	l.now = l.now.Add(login.AttemptAge)
	if _, why := l.finish(back, kept); why != "expired" {
		t.Errorf("too late: %s", why)
	}
	back, kept = l.begin("/")
	if _, why := l.finish(back+"x", kept); why != "expired" {
		t.Errorf("with another state: %s", why)
	}
	// A code of somebody else's login isn't this one's: it is bound to a verifier.
	back, kept = l.begin("/")
	other, _ := l.begin("/")
	code := func(s string) string { u, _ := url.Parse(s); return u.Query().Get("code") }
	if _, why := l.finish(strings.Replace(back, code(back), code(other), 1), kept); why != "unproved" {
		t.Errorf("with another's code: %s", why)
	}
	back, kept = l.begin("/")
	u, _ := url.Parse(back)
	if _, why := l.finish("/v1/login/oidc/corp/callback?error=access_denied&state="+u.Query().Get("state"), kept); why != "denied" {
		t.Errorf("denied: %s", why)
	}
}

func TestALoginSendsNobodyElsewhere(t *testing.T) {
	t.Parallel()
	l := people(t, "  jit: {enabled: true}\n")
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "/\tx", "evil", "/login?next=//evil.example", "/a\r\nSet-Cookie: x=y"} {
		if _, to := l.enter(next); to != "/" {
			t.Errorf("%q leads to %q", next, to)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/login/oidc/corp/start", nil)
	r.Host = "evil.example"
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	if w.Code != 302 || w.Header().Get("Location") != "/login?failed=no-address" || len(w.Result().Cookies()) != 0 {
		t.Errorf("at another host: %d %v", w.Code, w.Header())
	}
	if resp, _ := l.browse("/v1/login/oidc/other/start"); resp.status != 404 {
		t.Errorf("a provider that there isn't: %d", resp.status)
	}
	var ways login.Logins
	l.ask("GET", "/v1/login?failed=%3Cscript%3E", "", "Authorization", "").want(200, &ways)
	if !strings.HasPrefix(ways.Problem, "You couldn't be logged in.") {
		t.Errorf("a failure that there isn't means %q", ways.Problem)
	}
}

func TestWhoMayNotLogIn(t *testing.T) {
	t.Parallel()
	ada := "user: {identifier: ada, name: Ada, email: ada@example.com}"
	for name, c := range map[string]struct {
		more   string // of the provider
		users  []string
		person idp.Claims // over Ada's
		why    login.Failure
	}{
		"unverified_email":         {users: []string{ada}, person: idp.Claims{"email_verified": false}, why: login.NoMail},
		"no email_verified":        {users: []string{ada}, person: idp.Claims{"email_verified": nil}, why: login.NoMail},
		"no address":               {users: []string{ada}, person: idp.Claims{"email": nil}, why: login.NoMail},
		"something else":           {users: []string{ada}, person: idp.Claims{"email": "Ada <ada@example.com>"}, why: login.NoMail},
		"another domain":           {more: "  allowedDomains: [corp.example]\n", users: []string{ada}, why: login.Domain},
		"a subdomain":              {more: "  allowedDomains: [ample.com]\n", users: []string{ada}, why: login.Domain},
		"amr_required_and_absent":  {more: "  requiredAmr: [mfa, hwk]\n", users: []string{ada}, why: login.Factor},
		"amr of another sort":      {more: "  requiredAmr: [mfa]\n", users: []string{ada}, person: idp.Claims{"amr": []string{"pwd"}}, why: login.Factor},
		"jit_off_unknown_user":     {why: login.Stranger},
		"jit_claim_mismatch":       {more: "  jit: {enabled: true, claimKey: dept, claimValue: web}\n", person: idp.Claims{"dept": "shop"}, why: login.Stranger},
		"disabled":                 {users: []string{"user: {identifier: ada, name: Ada, email: ada@example.com, disabled: true}"}, why: login.Disabled},
		"the address is in a name": {users: []string{"user: {identifier: ada, name: Ada}"}, why: login.Stranger},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := people(t, c.more)
			for _, u := range c.users {
				l.put("", u)
			}
			person := idp.Claims{"sub": "ada-1", "email": "ada@example.com", "email_verified": true, "groups": []string{"devs"}}
			for k, v := range c.person {
				if person[k] = v; v == nil {
					delete(person, k)
				}
			}
			l.idp.Person(person)
			if _, why := l.enter("/"); why != string(c.why) {
				t.Errorf("ended with %s; want %s", why, c.why)
			}
			if told := l.trail(audit.LoginFailed); len(told) != 1 || told[0].Actor != "login provider corp" || !strings.HasPrefix(told[0].After, string(c.why)) {
				t.Errorf("the audit trail tells %+v", told)
			}
			var ways login.Logins
			l.ask("GET", "/v1/login?failed="+string(c.why), "", "Authorization", "").want(200, &ways)
			if ways.Problem != c.why.Sentence() || ways.Problem == "" {
				t.Errorf("people are told %q", ways.Problem)
			}
		})
	}
}

func TestWhoBecomesAUser(t *testing.T) {
	t.Parallel()
	l := people(t, "  requireEmailVerified: false\n  requiredAmr: [mfa]\n  allowedDomains: [EXAMPLE.com]\n  jit: {enabled: true, claimKey: dept, claimValue: web}\n")
	l.idp.Person(idp.Claims{"sub": "bob-1", "email": "bob.b@example.com", "name": "Bob B.", "dept": []string{"shop", "web"}, "amr": []string{"pwd", "mfa"}})
	session, why := l.enter("/")
	if session == nil {
		t.Fatal(why)
	}
	var who access.Whoami
	l.as(session, "GET", "/v1/whoami").want(200, &who)
	if who.Actor != "bob_b_example_com" {
		t.Errorf("the new user is %+v", who)
	}
	l.as(session, "GET", "/v1/executions"+scope).problem(403) // who has just come may nothing
	// The same person with another address is the same user.
	l.idp.Person(idp.Claims{"sub": "bob-1", "email": "robert@example.com", "dept": "web", "amr": "mfa"})
	session, _ = l.enter("/")
	l.as(session, "GET", "/v1/whoami").want(200, &who)
	if who.Actor != "bob_b_example_com" {
		t.Errorf("with another address it is %+v", who)
	}
	// Somebody else with the address of a user who is bound isn't that user.
	l.idp.Person(idp.Claims{"sub": "eve-1", "email": "bob.b@example.com", "dept": "web", "amr": "mfa"})
	if _, why := l.enter("/"); why != string(login.Elsewhere) {
		t.Errorf("somebody else with the address: %s", why)
	}
}

// oidc_user_of_other_provider_same_email_refused
func TestAUserOfAnotherProviderIsntTakenOver(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	l.put("", "user: {identifier: ada, name: Ada, email: ada@example.com}")
	if session, why := l.enter("/"); session == nil {
		t.Fatal(why)
	}
	first := l.idp
	l.idp = idp.New(t)
	l.idp.At(func() time.Time { return l.now })
	l.idp.Person(idp.Claims{"sub": "ada-1", "email": "ada@example.com", "email_verified": true})
	l.put("", "loginProvider: {identifier: other, name: Other, type: OIDC, issuer: '"+l.idp.URL+"', clientId: "+idp.ClientID+", clientSecretRef: idp}")
	resp, kept := l.browse("/v1/login/oidc/other/start")
	at, err := http.DefaultTransport.RoundTrip(must(http.NewRequestWithContext(t.Context(), "GET", resp.to, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_ = at.Body.Close()
	back := must(url.Parse(at.Header.Get("Location")))
	if _, why := l.finish(back.RequestURI(), kept...); why != string(login.Elsewhere) {
		t.Errorf("by another provider: %s", why)
	}
	// A provider whose issuer becomes another is another: its subjects are.
	l.provider("")
	if session, why := l.enter("/"); session == nil {
		t.Errorf("by the provider's new issuer: %s", why)
	}
	l.idp = first
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// groups_claim_removes_and_adds; missing_groups_claim_removes_nobody
func TestGroupsAreThoseThatTheProviderNames(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	l.put("", "user: {identifier: ada, name: Ada, email: ada@example.com}")
	l.team()
	as := func(groups any, more idp.Claims) *http.Cookie {
		t.Helper()
		c := idp.Claims{"sub": "ada-1", "email": "ada@example.com", "email_verified": true}
		if groups != nil {
			c["groups"] = groups
		}
		for k, v := range more {
			c[k] = v
		}
		l.idp.Person(c)
		session, why := l.enter("/")
		if session == nil {
			t.Fatal(why)
		}
		return session
	}
	old := as([]string{"devs", "ops"}, nil)
	l.as(old, "GET", "/v1/executions"+scope).want(200, nil)
	l.as(as(nil, nil), "GET", "/v1/executions"+scope).want(200, nil)
	l.as(as(nil, idp.Claims{"_claim_names": idp.Claims{"groups": "src1"}, "_claim_sources": idp.Claims{"src1": idp.Claims{"endpoint": "https://graph.example.com/groups"}}}), "GET", "/v1/executions"+scope).want(200, nil)
	l.as(as([]string{"Devs"}, nil), "GET", "/v1/executions"+scope).problem(403)
	l.as(old, "GET", "/v1/executions"+scope).problem(403) // what was taken away counts in old sessions too
	l.as(as("devs", nil), "GET", "/v1/executions"+scope).want(200, nil)
	l.as(as([]string{}, nil), "GET", "/v1/executions"+scope).problem(403)
	many := make([]string, 1001)
	for i := range many {
		many[i] = "g" + strconv.Itoa(i)
	}
	l.as(as(append(many, "devs"), nil), "GET", "/v1/executions"+scope).problem(403)
	// What the token leaves out is asked for.
	l.idp.Info(idp.Claims{"groups": []string{"devs"}})
	l.as(as(nil, nil), "GET", "/v1/executions"+scope).want(200, nil)
	changes := 0
	for _, r := range l.trail(audit.Update) {
		if r.Kind == "user" && r.ID == "ada" && strings.HasPrefix(r.After, "groups") {
			changes++
		}
	}
	if changes != 5 { // devs and ops, Devs, devs, none, devs
		t.Errorf("the audit trail tells of %d changes of groups", changes)
	}
}

// externally_managed_group_refuses_member_edit
func TestALinkedGroupHasNoOtherMembers(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	l.team()
	linked := "userGroup: {identifier: devs, name: Devs, ssoLinked: true, linkedSsoId: corp, linkedSsoType: OIDC, ssoGroupId: devs, users: [eve]}"
	if p := l.ask("PUT", "/v1/entities"+scope, linked, "Content-Type", "application/yaml").problem(409); p.Code != fault.Conflict || !strings.Contains(p.Message, "corp") {
		t.Errorf("members beside the provider's: %+v", p)
	}
	l.ask("DELETE", "/v1/entities/loginProvider/corp", "").problem(409) // a group names it
}

// disable_user_ends_sessions_and_tokens
func TestWhoIsDisabledIsLoggedOut(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	ada := "user: {identifier: ada, name: Ada, email: ada@example.com"
	l.put("", ada+"}")
	session, _ := l.enter("/")
	token := l.exchange(l.idp.IDToken(idp.CLIClientID, ""), 200)
	l.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+token).want(200, nil)
	l.put("", ada+", disabled: true}")
	l.as(session, "GET", "/v1/whoami").problem(401)
	l.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+token).problem(401)
	l.put("", ada+"}")
	l.as(session, "GET", "/v1/whoami").problem(401)
	l.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+token).problem(401)
	if told := l.trail(audit.RevokeToken); len(told) != 2 {
		t.Errorf("the audit trail tells %+v", told)
	}
}

// exchange swaps a token of the provider.
func (l *lobby) exchange(idToken string, status int) string {
	l.t.Helper()
	body := must(json.Marshal(map[string]string{"idToken": idToken}))
	a := l.ask("POST", "/v1/login/oidc/corp/exchange", string(body), "Authorization", "", "Content-Type", "application/json")
	if status != 200 {
		a.problem(status)
		return ""
	}
	var made api.NewToken
	a.want(200, &made)
	return made.Secret
}

func TestATokenOfTheProviderIsSwappedOnce(t *testing.T) {
	t.Parallel()
	l := people(t, "  jit: {enabled: true}\n")
	text := l.idp.IDToken(idp.CLIClientID, "")
	token := l.exchange(text, 200)
	var who access.Whoami
	l.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+token).want(200, &who)
	if who.Actor != "ada_example_com" || who.Kind != store.TokenUser || who.ExpiresAt.After(l.now.Add(24*time.Hour)) {
		t.Errorf("the token is %+v", who)
	}
	l.exchange(text, 401)                            // the same again
	l.exchange(l.idp.IDToken(idp.ClientID, ""), 401) // the server's own client
	l.exchange(l.idp.IDToken("somebody-else", ""), 401)
	l.exchange("x", 401)
	old := l.idp.IDToken(idp.CLIClientID, "")
	l.now = l.now.Add(11 * time.Minute)
	l.exchange(old, 401)
	var made api.NewToken // doesn't outlive the login
	l.now = l.now.Add(-11 * time.Minute)
	l.ask("POST", "/v1/tokens", `{"kind":"user","name":"x"}`, "Authorization", "Bearer "+token, "Content-Type", "application/json").want(200, &made)
	if made.ExpiresAt.After(l.now.Add(24 * time.Hour)) {
		t.Errorf("the token that it makes ends at %s", made.ExpiresAt)
	}
	l.put("", "loginProvider: {identifier: corp, name: Corp, type: OIDC, issuer: '"+l.idp.URL+"', clientId: slipway}")
	l.exchange(l.idp.IDToken(idp.CLIClientID, ""), 400)
}

func TestWhoSaysByWhomPeopleLogIn(t *testing.T) {
	t.Parallel()
	l := people(t, "")
	l.put("", "user: {identifier: ada, name: Ada, email: ada@example.com}")
	l.put("", "role: {identifier: auth, name: Auth, permissions: [core_authsetting_view, core_authsetting_edit, core_authsetting_delete]}")
	l.put("", "roleAssignment: {identifier: ada, roleIdentifier: auth, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: ada}}")
	session, _ := l.enter("/")
	var list struct {
		Entities []struct{ Key struct{ ID string } }
	}
	if err := json.Unmarshal(l.as(session, "GET", "/v1/entities/loginProvider").want(200, nil).body, &list); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "PUT", "/v1/entities", strings.NewReader("loginProvider: {identifier: mine, name: Mine, type: OIDC, issuer: 'https://evil.example', clientId: x}"))
	r.Host = "127.0.0.1:8484"
	r.AddCookie(session)
	for k, v := range map[string]string{"Sec-Fetch-Site": "same-origin", "X-Slipway-Console": "1", "Content-Type": "application/yaml"} {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	if w.Code != 403 || !strings.Contains(w.Body.String(), "by whom people log in") {
		t.Errorf("who may not do everything says by whom people log in: %d %s", w.Code, w.Body)
	}
	if !slices.ContainsFunc(l.trail(audit.Create), func(r audit.Record) bool { return r.Kind == "loginProvider" }) {
		t.Error("the audit trail doesn't tell of the provider")
	}
}

// Where others log people in, as on AWS, the API refuses to, and a directory isn't
// saved.
func TestWhereOthersLogPeopleIn(t *testing.T) {
	t.Parallel()
	s := setup(t)
	cfg := s.cfg
	cfg.Catalog = catalog.New(catalog.Config{Store: s.store, Options: builtin.Options(ref.Scope{}), Now: time.Now, NoDirectory: login.NoDirectoryOnAWS})
	s.Server = api.New(cfg)
	const directory = "loginProvider: {identifier: dir, name: Directory, type: LDAP, host: ldap.example.com, useSSL: true, bindDN: 'cn=x', bindPasswordRef: idp, userQueries: [{baseDN: 'dc=x'}]}"
	if p := s.ask("PUT", "/v1/entities", directory, "Content-Type", "application/yaml").problem(400); p.Message != login.NoDirectoryOnAWS || len(p.Details) != 1 || p.Details[0].Line != 1 {
		t.Errorf("a directory is saved: %+v", p)
	}
	var ways login.Logins
	s.ask("GET", "/v1/login", "", "Authorization", "").want(200, &ways)
	if len(ways.Providers) != 0 {
		t.Errorf("there are %+v", ways)
	}
	for _, path := range []string{"start", "callback"} {
		if p := s.ask("GET", "/v1/login/oidc/corp/"+path, "", "Authorization", "").problem(400); p.Code != fault.Unsupported {
			t.Errorf("%s: %+v", path, p)
		}
	}
	s.ask("POST", "/v1/login/oidc/corp/exchange", `{"idToken":"x"}`, "Authorization", "", "Content-Type", "application/json").problem(400)
	for _, path := range []string{"start", "callback", "metadata"} {
		if p := s.ask("GET", "/v1/login/saml/corp/"+path, "", "Authorization", "").problem(400); p.Code != fault.Unsupported {
			t.Errorf("%s: %+v", path, p)
		}
	}
	s.ask("POST", "/v1/login/saml/corp/acs", "SAMLResponse=x", "Authorization", "", "Content-Type", "application/x-www-form-urlencoded").problem(400)
	for _, path := range []string{"", "/exchange"} {
		s.ask("POST", "/v1/login/ldap/corp"+path, `{"user":"x","password":"y"}`, "Authorization", "", "Content-Type", "application/json", "X-Slipway-Console", "1").problem(400)
	}
}
