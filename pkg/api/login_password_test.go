package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testservers/directory"
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/store"
)

// office is a server that people of a directory log in to.
type office struct {
	*lobby
	at  *directory.Directory
	log *bytes.Buffer
}

const adasPassword, wrongPassword = "corr3ct-h0rse", "batt3ry-st4ple"

func withDirectory(t *testing.T, more string) *office {
	t.Helper()
	o := &office{people(t, ""), directory.New(t, true), &bytes.Buffer{}}
	o.cfg.Login.Log = slog.New(slog.NewTextHandler(o.log, nil))
	o.put("", "secret: {identifier: search, name: Search, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: "+directory.SearchSecret+"}}")
	o.put("", fmt.Sprintf("loginProvider:\n  identifier: dir\n  name: Directory\n  type: LDAP\n  host: 127.0.0.1\n  port: %d\n  useSSL: true\n  bindDN: %s\n  bindPasswordRef: search\n  userQueries: [{baseDN: '%s'}]\n  caCertificate: |\n    %s\n%s",
		o.at.Port, directory.SearchDN, directory.People, strings.ReplaceAll(strings.TrimSpace(o.at.CA), "\n", "\n    "), more))
	o.put("", "user: {identifier: ada, name: Ada, email: ada@example.com}")
	o.in("CN=Devs," + directory.Groups)
	return o
}

// in has Ada be in groups of the directory.
func (o *office) in(groups ...string) {
	o.at.Set(
		directory.Entry{DN: "uid=ada," + directory.People, Password: adasPassword, Attributes: map[string][]string{"mail": {"ada@example.com"}, "cn": {"Ada"}, "memberOf": groups}},
		directory.Entry{DN: "uid=eve," + directory.People, Password: adasPassword, Attributes: map[string][]string{"mail": {"eve@example.com"}, "cn": {"Eve"}}},
	)
}

// types is a request of the console's login page.
func (o *office) types(user, password string, header ...string) answer {
	o.t.Helper()
	return o.asks("/v1/login/ldap/dir", user, password, append([]string{"Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1", "Origin", "http://127.0.0.1:8484"}, header...)...)
}

func (o *office) asks(path, user, password string, header ...string) answer {
	o.t.Helper()
	body := must(json.Marshal(map[string]string{"user": user, "password": password}))
	r := httptest.NewRequestWithContext(o.t.Context(), "POST", path, bytes.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:8484", "192.0.2.7:4711"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "From" {
			r.RemoteAddr = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	o.ServeHTTP(w, r)
	return answer{t: o.t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

func session(t *testing.T, a answer) *http.Cookie {
	t.Helper()
	a.want(200, nil)
	c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil || c.Name != "slipway" || !c.HttpOnly {
		t.Fatalf("the cookie is %+v (%v)", c, err)
	}
	return c
}

func TestSomebodyLogsInByADirectory(t *testing.T) {
	t.Parallel()
	o := withDirectory(t, "")
	o.put(scope, "userGroup: {identifier: devs, name: Devs, ssoLinked: true, linkedSsoId: dir, linkedSsoType: LDAP, ssoGroupId: 'cn=devs,"+directory.Groups+"'}")
	o.put(scope, strings.Split(team, "\n---\n")[1])
	c := session(t, o.types("ADA@example.com", adasPassword))
	var who access.Whoami
	o.as(c, "GET", "/v1/whoami").want(200, &who)
	if who.Actor != "ada" || who.Token != "Directory" {
		t.Errorf("who logged in is %+v", who)
	}
	o.as(c, "GET", "/v1/executions"+scope).want(200, nil)
	o.in("CN=Ops," + directory.Groups)
	c = session(t, o.types("ada@example.com", adasPassword))
	o.as(c, "GET", "/v1/executions"+scope).problem(403)
	var made api.NewToken
	o.asks("/v1/login/ldap/dir/exchange", "ada@example.com", adasPassword).want(200, &made)
	o.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+made.Secret).want(200, &who)
	if who.Actor != "ada" || who.Kind != store.TokenUser || who.ExpiresAt.After(o.now.Add(24*time.Hour)) {
		t.Errorf("the token is %+v", who)
	}
	if told := o.trail(audit.Login); len(told) != 3 || told[0].After != "by the login provider dir" {
		t.Errorf("the audit trail tells %+v", told)
	}
	if p := o.types("eve@example.com", adasPassword).problem(401); p.Message != login.Stranger.Sentence() {
		t.Errorf("who has no user is told %q", p.Message)
	}
	var ways login.Logins
	o.ask("GET", "/v1/login", "").want(200, &ways)
	if strings.Contains(fmt.Sprint(ways), "127.0.0.1:"+fmt.Sprint(o.at.Port)) {
		t.Errorf("whoever asks is told where the directory is: %+v", ways)
	}
}

// No page of another site has a browser try passwords.
func TestPasswordsComeFromTheConsoleAlone(t *testing.T) {
	t.Parallel()
	o := withDirectory(t, "")
	o.types("ada@example.com", adasPassword, "Sec-Fetch-Site", "cross-site").problem(403)
	o.types("ada@example.com", adasPassword, "X-Slipway-Console", "").problem(403)
	o.asks("/v1/login/ldap/dir/exchange", "ada@example.com", adasPassword, "Sec-Fetch-Site", "cross-site").problem(403)
	o.asks("/v1/login/oidc/corp/exchange", "ada@example.com", adasPassword, "Origin", "https://evil.example").problem(403)
	o.types("ada@example.com", adasPassword, "Origin", "http://slipway.example.com", "Sec-Fetch-Site", "none").problem(400) // where no cookie is kept
	if asked := o.at.Questions(); len(asked) != 0 {
		t.Errorf("the directory was asked %q", asked)
	}
	o.asks("/v1/login/ldap/corp", "ada@example.com", adasPassword, "X-Slipway-Console", "1").problem(404) // which speaks something else
}

func TestAPasswordIsToldToNobody(t *testing.T) {
	t.Parallel()
	o := withDirectory(t, "")
	answers := []answer{
		o.types("ada@example.com", wrongPassword), o.types(wrongPassword, "x"), o.types("bob@example.com", wrongPassword),
		o.types("ada@example.com", strings.Repeat(wrongPassword, 50)), o.types("ada@example.com", adasPassword),
	}
	for _, path := range []string{"/v1/audit?limit=500", "/v1/tokens"} {
		answers = append(answers, o.ask("GET", path, ""))
	}
	for _, a := range answers {
		if strings.Contains(string(a.body), wrongPassword) || strings.Contains(string(a.body), adasPassword) {
			t.Errorf("an answer tells it: %s", a.body)
		}
	}
	if log := o.log.String(); log == "" || strings.Contains(log, wrongPassword) || strings.Contains(log, adasPassword) || strings.Contains(log, directory.SearchSecret) {
		t.Errorf("the log tells it: %s", log)
	}
	typed := login.Typed{User: "ada@example.com", Password: adasPassword}
	if text := fmt.Sprintf("%v %+v %#v %s", typed, typed, typed, typed.Password); strings.Contains(text, adasPassword) {
		t.Errorf("it is shown: %s", text)
	}
	if told := o.trail(audit.LoginFailed); len(told) != 2 { // Ada's, and one of nobody
		t.Errorf("the audit trail tells %+v", told)
	}
}

func TestAfterFiveWrongPasswordsNoneIsTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user, from func(n int) string
		free       []string // who still may, from where
	}{
		"of a user": {
			user: func(int) string { return "ada@example.com" }, from: func(n int) string { return fmt.Sprintf("198.51.%d.1:1", n) },
			free: []string{"eve@example.com", "198.51.1.2:1"},
		},
		"of nobody": {
			user: func(int) string { return "bob@example.com" }, from: func(n int) string { return fmt.Sprintf("[2001:db8:0:%d::1]:1", n) },
			free: []string{"eve@example.com", "[2001:db8:0:1::2]:1"},
		},
		"of a network": {
			user: func(n int) string { return fmt.Sprintf("bob%d@example.com", n) }, from: func(n int) string { return fmt.Sprintf("198.51.100.%d:1", n) },
			free: []string{"eve@example.com", "198.51.101.1:1"},
		},
		"of an IPv6 network": {
			user: func(n int) string { return fmt.Sprintf("bob%d@example.com", n) }, from: func(n int) string { return fmt.Sprintf("[2001:db8::%d]:1", n) },
			free: []string{"eve@example.com", "[2001:db8:0:1::1]:1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := withDirectory(t, "  jit: {enabled: true}\n")
			for n := range 5 {
				if p := o.types(c.user(n), wrongPassword, "From", c.from(n)).problem(401); p.Message != login.Wrong.Sentence() {
					t.Errorf("the %d. time: %+v", n+1, p)
				}
			}
			asked := len(o.at.Questions())
			o.cfg.Login = login.New(o.cfg.Login.Config) // as after a new start
			o.Server = api.New(o.cfg)
			for _, password := range []string{wrongPassword, adasPassword} {
				if p := o.types(c.user(0), password, "From", c.from(0)).problem(429); p.Code != fault.TooMany || len(o.at.Questions()) != asked {
					t.Errorf("the directory is asked, or the answer is %+v", p)
				}
			}
			session(t, o.types(c.free[0], adasPassword, "From", c.free[1]))
			o.now = o.now.Add(login.LockedFor)
			if a := o.types(c.user(0), wrongPassword, "From", c.from(0)); a.status != 401 {
				t.Errorf("after that time: %d %s", a.status, a.body)
			}
		})
	}
}

// Many at once are no more than five.
func TestWrongPasswordsAtOnce(t *testing.T) {
	t.Parallel()
	o := withDirectory(t, "")
	var wait sync.WaitGroup
	for n := range 12 {
		wait.Go(func() { o.types("ada@example.com", wrongPassword, "From", fmt.Sprintf("198.51.%d.1:1", n)) })
	}
	wait.Wait()
	tried := 0
	for _, q := range o.at.Questions() {
		if q == "bind uid=ada,"+directory.People {
			tried++
		}
	}
	if tried != 5 {
		t.Errorf("%d passwords were tried", tried)
	}
}

// A proxy on this machine says for whom it asks; others say what they like.
func TestWhereAPasswordComesFrom(t *testing.T) {
	t.Parallel()
	o := withDirectory(t, "")
	for n := range 5 {
		o.types(fmt.Sprintf("bob%d@example.com", n), wrongPassword, "From", "127.0.0.1:1", "X-Forwarded-For", "203.0.113.9, 198.51.100.7").problem(401)
	}
	o.types("ada@example.com", adasPassword, "From", "127.0.0.1:1", "X-Forwarded-For", "198.51.100.8").problem(429)
	session(t, o.types("ada@example.com", adasPassword, "From", "127.0.0.1:1", "X-Forwarded-For", "198.51.100.8, 203.0.113.9"))
	session(t, o.types("ada@example.com", adasPassword, "From", "192.0.2.1:1", "X-Forwarded-For", "198.51.100.8"))
}
