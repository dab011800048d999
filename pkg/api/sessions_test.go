package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// opened logs in, and gives the cookie as browsers send it back.
func (s *server) opened(origin, token string) (*http.Cookie, access.Whoami) {
	s.t.Helper()
	var who access.Whoami
	a := s.ask("POST", "/v1/login/token", `{"token":"`+token+`"}`, "Authorization", "", "Content-Type", "application/json", "Origin", origin, "Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1").want(200, &who)
	c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.Contains(string(a.body), c.Value) || strings.Contains(string(a.body), token) {
		s.t.Errorf("the answer tells the session or the token: %s", a.body)
	}
	return c, who
}

// by asks with a session's cookie, as a page of the console does.
func (s *server) by(c *http.Cookie, method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.ask(method, path, body, append([]string{"Authorization", "", "Cookie", c.Name + "=" + c.Value, "Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1"}, headers...)...)
}

func TestASessionHasTheRightsOfItsToken(t *testing.T) {
	t.Parallel()
	s := setup(t)
	project := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "laptop", Actor: "bob"})
	c, who := s.opened("https://slipway.example.com", project)
	if c.Name != "__Host-slipway" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || !strings.HasPrefix(c.Value, "ses.default.") {
		t.Errorf("the cookie is %+v", c)
	}
	if who.Actor != "bob" || who.Kind != store.TokenSession || who.Token != "laptop" || who.Org != "default" || who.Project != "web" || time.Until(who.ExpiresAt) < 23*time.Hour {
		t.Errorf("whoever logged in is %+v", who)
	}
	var again access.Whoami
	s.by(c, "GET", "/v1/whoami", "").want(200, &again)
	s.by(c, "GET", "/v1/executions"+scope, "").want(200, nil)
	s.by(c, "GET", "/v1/executions?org=other", "").problem(403)
	s.by(c, "POST", "/v1/delegate/register", `{"id":"d1","name":"d"}`).problem(403)
	s.by(c, "POST", "/v1/logout", "").want(204, nil)
	if p := s.by(c, "GET", "/v1/whoami", "").problem(401); p.Code != fault.Unauthenticated {
		t.Errorf("after the log-out: %+v", p)
	}
	var told []audit.Action
	var records api.AuditList
	s.ask("GET", "/v1/audit", "").want(200, &records)
	for _, r := range records.Records {
		told = append(told, r.Action)
		if strings.Contains(r.After, c.Value) {
			t.Errorf("the audit trail tells the session: %+v", r)
		}
	}
	if len(told) != 2 || told[0] != audit.Login || told[1] != audit.Logout {
		t.Errorf("the audit trail tells of %v", told)
	}
}

func TestASessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	s := setup(t)
	token, text := access.Mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: "x", Actor: "eve"}, time.Now())
	if err := s.store.PutToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	c, _ := s.opened("", text)
	s.by(c, "GET", "/v1/whoami", "").want(200, nil)
	token.Revoked = true
	if err := s.store.PutToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	s.by(c, "GET", "/v1/whoami", "").problem(401)
}

func TestASessionEndsByItself(t *testing.T) {
	t.Parallel()
	s := setup(t)
	c, _ := s.opened("", s.token)
	cfg := s.cfg
	cfg.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	s.Server = api.New(cfg)
	s.by(c, "GET", "/v1/whoami", "").problem(401)
	next, _ := s.opened("", s.token)
	s.by(next, "GET", "/v1/whoami", "").want(200, nil)
	all, err := s.store.ListTokens(t.Context(), "default", store.TokenSession)
	if err != nil || len(all) != 1 {
		t.Errorf("there are the sessions %+v (%v); want one, in the place of that which ended", all, err)
	}
}

func TestSessionsComeFromTheConsoleAlone(t *testing.T) {
	t.Parallel()
	s := setup(t)
	c, _ := s.opened("https://slipway.example.com", s.token)
	for name, headers := range map[string][]string{
		"without the header":     {"X-Slipway-Console", ""},
		"from another site":      {"Sec-Fetch-Site", "cross-site"},
		"from another subdomain": {"Sec-Fetch-Site", "same-site"},
		"of another origin":      {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
	} {
		s.by(c, "POST", "/v1/tokens", `{"kind":"user","name":"x"}`, append(headers, "Content-Type", "application/json")...).problem(403)
		s.by(c, "POST", "/v1/logout", "", headers...).problem(403)
		s.by(c, "POST", "/v1/login/token", `{"token":"`+s.token+`"}`, append(headers, "Content-Type", "application/json")...).problem(403)
		if a := s.ask("POST", "/v1/tokens", `{"kind":"user","name":"`+name+`"}`, append(headers, "Content-Type", "application/json")...); a.status != 200 {
			t.Errorf("%s, with a token: %d %s", name, a.status, a.body)
		}
	}
	s.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+c.Value).problem(401)
	s.ask("GET", "/v1/whoami", "", "Authorization", "", "Cookie", "slipway="+c.Value).problem(401) // the host isn't this machine
	s.ask("GET", "/v1/whoami", "", "Authorization", "", "Cookie", "__Host-slipway="+s.token).problem(401)
	s.ask("POST", "/v1/logout", "").problem(400)
}

func TestWhereSessionsAreOpened(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for origin, name := range map[string]string{
		"http://127.0.0.1:8484": "slipway", "http://localhost:8484": "slipway", "http://[::1]:8484": "slipway", "https://10.0.0.5": "__Host-slipway", "": "__Host-slipway",
	} {
		if c, _ := s.opened(origin, s.token); c.Name != name || c.Secure != (name == "__Host-slipway") {
			t.Errorf("at %s the cookie is %+v", origin, c)
		}
	}
	login := func(token, origin string) answer {
		return s.ask("POST", "/v1/login/token", `{"token":"`+token+`"}`, "Authorization", "", "Content-Type", "application/json", "Origin", origin, "Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1")
	}
	if p := login(s.token, "http://10.0.0.5:8484").problem(400); !strings.Contains(p.Message, "https") {
		t.Errorf("over plain HTTP: %s", p.Message)
	}
	login("pat.default.nobody.guess", "").problem(401)
	delegate := s.mint(access.Grant{Kind: store.TokenDelegate, Scope: ref.Scope{Account: "default"}, Name: "d", Actor: "d"})
	login(delegate, "").problem(403)
}
