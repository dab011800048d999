package api_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// keepers is a server that keeps passwords of its own.
type keepers struct {
	*lobby
	log *bytes.Buffer
}

const firstPassword, nextPassword = "correct horse battery", "staple of another kind"

func withPasswords(t *testing.T) *keepers {
	t.Helper()
	k := &keepers{people(t, ""), &bytes.Buffer{}}
	k.cfg.Login.Cost = login.Cost{Memory: 256, Passes: 1}
	k.cfg.Login.Log = slog.New(slog.NewTextHandler(k.log, nil))
	k.put("", "user: {identifier: ada, name: Ada, email: ada@example.com}")
	k.put("", "user: {identifier: eve, name: Eve, email: eve@example.com}")
	k.now = k.now.Add(time.Second)
	k.set("ada", firstPassword).want(204, nil)
	return k
}

// set sets a user's password as who may do everything.
func (k *keepers) set(user, password string) answer {
	k.t.Helper()
	return k.ask("PUT", "/v1/users/"+user+"/password", string(must(json.Marshal(map[string]string{"password": password}))), "Content-Type", "application/json")
}

// sends is a request of whom nobody knows, or of the bearer of a token.
func (k *keepers) sends(method, path, token string, body map[string]string, header ...string) answer {
	k.t.Helper()
	r := httptest.NewRequestWithContext(k.t.Context(), method, path, bytes.NewReader(must(json.Marshal(body))))
	r.Host, r.RemoteAddr = "127.0.0.1:8484", "192.0.2.7:4711"
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "From" {
			r.RemoteAddr = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	return answer{t: k.t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

// types is a request of the console's login page.
func (k *keepers) types(user, password, code string, header ...string) answer {
	k.t.Helper()
	return k.sends("POST", "/v1/login/local", "", map[string]string{"user": user, "password": password, "code": code},
		append([]string{"Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1", "Origin", "http://127.0.0.1:8484"}, header...)...)
}

// exchanges logs in at a terminal: the token.
func (k *keepers) exchanges(user, password, code string) string {
	k.t.Helper()
	var made api.NewToken
	k.sends("POST", "/v1/login/local/exchange", "", map[string]string{"user": user, "password": password, "code": code}).want(200, &made)
	return made.Secret
}

func TestSomebodyLogsInByAPassword(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	c := session(t, k.types("ADA@example.com", firstPassword, ""))
	var who access.Whoami
	k.as(c, "GET", "/v1/whoami").want(200, &who)
	if who.Actor != "ada" || who.Kind != store.TokenSession {
		t.Errorf("who logged in is %+v", who)
	}
	k.sends("GET", "/v1/whoami", k.exchanges("ada", firstPassword, ""), nil).want(200, &who)
	if who.Actor != "ada" || who.Kind != store.TokenUser || who.ExpiresAt.After(k.now.Add(24*time.Hour)) {
		t.Errorf("the token is %+v", who)
	}
	if told := k.trail(audit.Login); len(told) != 2 || told[0].After != "by a password" || told[0].Actor != "ada" {
		t.Errorf("the audit trail tells %+v", told)
	}
	k.types("ada", firstPassword, "", "Sec-Fetch-Site", "cross-site").problem(403)
	k.types("ada", firstPassword, "", "X-Slipway-Console", "").problem(403)
	var ways login.Logins
	if k.ask("GET", "/v1/login", "").want(200, &ways); !ways.Passwords {
		t.Error("nobody is told that there are passwords")
	}
}

// Who there isn't, who has no password and who types a wrong one get one answer.
func TestWhomAPasswordDoesNotLetIn(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	var bodies []string
	for i, c := range [][2]string{{"ada", nextPassword}, {"eve@example.com", firstPassword}, {"bob@example.com", firstPassword}, {"=ada", firstPassword}, {"ada", ""}, {"", ""}, {"\x00", "\x00"}} {
		p := k.types(c[0], c[1], "", "From", fmt.Sprintf("198.51.%d.1:1", i)).problem(401)
		bodies = append(bodies, string(p.Code)+p.Message)
		if bodies[i] != bodies[0] {
			t.Errorf("%q is told %s, and others %s", c[0], bodies[i], bodies[0])
		}
	}
	k.put("", "user: {identifier: ada, name: Ada, email: ada@example.com, disabled: true}")
	if p := k.types("ada", firstPassword, "").problem(401); p.Message != login.Disabled.Sentence() {
		t.Errorf("who is disabled is told %q", p.Message)
	}
	if p := k.types("ada", nextPassword, "").problem(401); p.Message != login.Wrong.Sentence() {
		t.Errorf("who guesses is told %q", p.Message)
	}
}

func TestAPasswordOfSlipwayIsToldToNobody(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	token := k.exchanges("ada", firstPassword, "")
	var begun login.Enrolment
	k.sends("POST", "/v1/users/ada/totp", token, map[string]string{"password": firstPassword}).want(200, &begun)
	answers := []answer{k.types("ada", nextPassword, ""), k.types(firstPassword, "x", ""), k.set("ada", "short pass")}
	for _, path := range []string{"/v1/audit?limit=500", "/v1/tokens", "/v1/entities/user", "/v1/entities/user/ada", "/v1/search?q=ada", "/v1/entities/loginBinding", "/v1/entities/loginBinding/=local=ada"} {
		answers = append(answers, k.ask("GET", path, ""))
	}
	kept, err := k.store.Entity(t.Context(), access.CredentialKey("default", "ada"))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := k.store.Secret(t.Context(), kept.Key)
	if err != nil {
		t.Fatal(err)
	}
	answers = append(answers, answer{body: kept.YAML}, answer{body: sealed.Ciphertext}, answer{body: k.log.Bytes()})
	for _, a := range answers {
		for _, secret := range []string{firstPassword, nextPassword, "short pass", "argon2id", begun.Secret} {
			if bytes.Contains(a.body, []byte(secret)) {
				t.Errorf("%q is told: %s", secret, a.body)
			}
		}
	}
	if k.log.Len() == 0 {
		t.Error("the log has nothing")
	}
}

func TestAfterFiveWrongPasswordsOfSlipwayNoneIsTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user, from func(n int) string
		free       string // from where Ada still may
	}{
		"of a user": {
			user: func(n int) string { return []string{"ada", "ada@example.com", "ADA@EXAMPLE.COM"}[n%3] }, from: func(n int) string { return fmt.Sprintf("198.51.%d.1:1", n) },
		},
		"of nobody": {
			user: func(int) string { return "bob@example.com" }, from: func(n int) string { return fmt.Sprintf("198.51.%d.1:1", n) }, free: "198.51.1.2:1",
		},
		"of a network": {
			user: func(n int) string { return fmt.Sprintf("bob%d@example.com", n) }, from: func(n int) string { return fmt.Sprintf("198.51.100.%d:1", n) }, free: "198.51.101.1:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := withPasswords(t)
			for n := range 5 {
				k.types(c.user(n), nextPassword, "", "From", c.from(n)).problem(401)
			}
			k.cfg.Login = login.New(k.cfg.Login.Config) // as after a new start
			k.Server = api.New(k.cfg)
			if p := k.types(c.user(0), firstPassword, "", "From", c.from(0)).problem(429); p.Code != fault.TooMany {
				t.Errorf("the answer is %+v", p)
			}
			if c.free != "" {
				session(t, k.types("ada", firstPassword, "", "From", c.free))
			}
			k.now = k.now.Add(login.LockedFor)
			if a := k.types(c.user(0), nextPassword, "", "From", c.from(0)); a.status != 401 {
				t.Errorf("after that time: %d %s", a.status, a.body)
			}
		})
	}
}

// Many at once are no more than five, of whom nobody is let in.
func TestWrongPasswordsOfSlipwayAtOnce(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	var wait sync.WaitGroup
	var tried atomic.Int64
	for n := range 8 {
		wait.Go(func() {
			if k.types("ada", nextPassword, "", "From", fmt.Sprintf("198.51.%d.1:1", n)).status == 401 {
				tried.Add(1)
			}
		})
	}
	wait.Wait()
	if tried.Load() != 5 {
		t.Errorf("%d passwords were tried", tried.Load())
	}
}

func TestWhoSetsAPassword(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	k.put("", "roleAssignment: {identifier: viewer, roleIdentifier: _account_viewer, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: eve}}")
	k.set("eve", nextPassword).want(204, nil)
	ada, eve := k.exchanges("ada", firstPassword, ""), k.exchanges("eve", nextPassword, "")
	c := session(t, k.types("ada", firstPassword, ""))
	put := func(token, user, old, password string) answer {
		t.Helper()
		return k.sends("PUT", "/v1/users/"+user+"/password", token, map[string]string{"old": old, "password": password})
	}
	put(eve, "ada", "", nextPassword).problem(403)
	put(eve, "ada", firstPassword, nextPassword).problem(403)
	if p := put(ada, "ada", nextPassword, "another password").problem(403); p.Message != login.Wrong.Sentence() {
		t.Errorf("who doesn't know the old one is told %q", p.Message)
	}
	put(ada, "ada", "", "another password").problem(403)
	for password, want := range map[string]string{
		"eleven char": "the new password has 11 characters; want at least 12", "": "the new password has 0 characters; want at least 12",
		strings.Repeat("äbcd", 100) + strings.Repeat("y", 100): "the new password has 600 bytes; want at most 512", "aaabbbcccaaabbbccc": "the new password is of fewer than 4 different characters",
	} {
		if p := put(ada, "ada", firstPassword, password).problem(400); p.Message != want {
			t.Errorf("%q: %q", password, p.Message)
		}
	}
	k.sends("GET", "/v1/whoami", ada, nil).want(200, nil) // nothing has changed
	put(ada, "ada", firstPassword, nextPassword).want(204, nil)
	k.sends("GET", "/v1/whoami", ada, nil).problem(401)
	k.as(c, "GET", "/v1/whoami").problem(401)
	k.sends("GET", "/v1/whoami", eve, nil).want(200, nil)
	k.types("ada", firstPassword, "").problem(401)
	session(t, k.types("ada", nextPassword, ""))
	k.set("nobody", nextPassword).problem(404)
	k.ask("PUT", "/v1/users/ada/password", `{"password":"`+firstPassword+`"}`, "Authorization", "Bearer "+k.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "x", Actor: "x"})).problem(403)
	if told := k.trail(audit.Update); len(told) != 3 || told[2].ID != "ada" || told[2].Actor != "ada" || told[2].After != "another password" {
		t.Errorf("the audit trail tells %+v", told)
	}
}

// A password is of the user who had it, and not of another of that name.
func TestAPasswordGoesWithItsUser(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	k.ask("DELETE", "/v1/entities/user/ada", "").want(204, nil)
	k.types("ada", firstPassword, "").problem(401)
	if _, err := k.store.Entity(t.Context(), access.CredentialKey("default", "ada")); !fault.Is(err, fault.NotFound) {
		t.Errorf("the password is kept: %v", err)
	}
	k.now = k.now.Add(time.Second)
	k.put("", "user: {identifier: ada, name: Ada, email: ada@example.com}")
	k.types("ada", firstPassword, "").problem(401)
}

// authenticator is what shows the codes of a second factor (RFC 6238).
func authenticator(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	seed := must(base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret))
	mac := hmac.New(sha1.New, seed)
	_ = binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	o := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[o:o+4])&0x7fffffff)%1_000_000)
}

func TestASecondFactor(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	token := k.exchanges("ada", firstPassword, "")
	begin := func(token, password string) answer {
		return k.sends("POST", "/v1/users/ada/totp", token, map[string]string{"password": password})
	}
	confirm := func(code string) answer {
		return k.sends("POST", "/v1/users/ada/totp/confirm", token, map[string]string{"code": code})
	}
	begin(k.token, firstPassword).problem(403) // who isn't Ada
	confirm("123456").problem(409)
	begin(token, nextPassword).problem(403)
	var begun login.Enrolment
	begin(token, firstPassword).want(200, &begun)
	if !strings.HasPrefix(begun.URI, "otpauth://totp/Slipway:ada?") || !strings.Contains(begun.URI, "secret="+begun.Secret) {
		t.Errorf("the authenticator is told %+v", begun)
	}
	session(t, k.types("ada", firstPassword, "")) // nothing is asked for yet
	now := func(steps int) string {
		return authenticator(t, begun.Secret, k.now.Add(time.Duration(steps)*30*time.Second))
	}
	confirm(now(3)).problem(403)
	var made struct{ RecoveryCodes []string }
	confirm(now(0)).want(200, &made)
	if len(made.RecoveryCodes) != 10 {
		t.Fatalf("there are %d recovery codes", len(made.RecoveryCodes))
	}
	begin(token, firstPassword).problem(409) // nobody puts another in its place
	confirm(now(1)).problem(409)

	p := k.types("ada", firstPassword, "").problem(401)
	if len(p.Details) != 1 || p.Details[0].Code != login.SecondWanted {
		t.Errorf("who shows no code is told %+v", p)
	}
	k.types("ada", nextPassword, now(1)).problem(401)                                                     // the password counts, too
	if p := k.types("ada", firstPassword, now(0)).problem(401); p.Message != login.WrongCode.Sentence() { // it was used
		t.Errorf("the code is told to be %q", p.Message)
	}
	k.now = k.now.Add(login.LockedFor)
	for _, steps := range []int{-2, 2} {
		k.types("ada", firstPassword, now(steps)).problem(401)
	}
	for _, steps := range []int{-1, 0, 1} {
		session(t, k.types("ada", firstPassword, now(steps)))
		k.types("ada", firstPassword, now(steps), "From", "198.51.100.1:1").problem(401)
	}
	k.now = k.now.Add(login.LockedFor)
	session(t, k.types("ada", firstPassword, strings.ToLower(made.RecoveryCodes[3])))
	k.types("ada", firstPassword, made.RecoveryCodes[3]).problem(401)
	for range 4 {
		k.types("ada", firstPassword, "000000").problem(401)
	}
	k.types("ada", firstPassword, made.RecoveryCodes[4]).problem(429) // wrong codes count

	k.sends("DELETE", "/v1/users/ada/totp", token, nil).problem(403)
	k.ask("DELETE", "/v1/users/ada/totp", "").want(204, nil)
	k.now = k.now.Add(login.LockedFor)
	session(t, k.types("ada", firstPassword, ""))
}

// Of two who show the same code at once one is let in.
func TestACodeShownTwiceAtOnce(t *testing.T) {
	t.Parallel()
	k := withPasswords(t)
	token := k.exchanges("ada", firstPassword, "")
	var begun login.Enrolment
	k.sends("POST", "/v1/users/ada/totp", token, map[string]string{"password": firstPassword}).want(200, &begun)
	var made struct{ RecoveryCodes []string }
	k.sends("POST", "/v1/users/ada/totp/confirm", token, map[string]string{"code": authenticator(t, begun.Secret, k.now)}).want(200, &made)
	for _, code := range []string{authenticator(t, begun.Secret, k.now.Add(30*time.Second)), made.RecoveryCodes[0]} {
		var wait sync.WaitGroup
		var in atomic.Int64
		for n := range 3 {
			wait.Go(func() {
				if k.types("ada", firstPassword, code, "From", fmt.Sprintf("198.51.%d.1:1", n)).status == http.StatusOK {
					in.Add(1)
				}
			})
		}
		wait.Wait()
		if in.Load() != 1 {
			t.Errorf("%d were let in by %s", in.Load(), code)
		}
	}
}

func TestWhereNobodyHasAPassword(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for asked, body := range map[string]string{"POST /v1/login/local": `{"user":"x","password":"y"}`, "PUT /v1/users/ada/password": `{"password":"correct horse battery"}`, "DELETE /v1/users/ada/totp": ""} {
		method, path, _ := strings.Cut(asked, " ")
		p := s.ask(method, path, body, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1").problem(400)
		if p.Code != fault.Unsupported || p.Message != login.NoPasswords {
			t.Errorf("%s: %+v", path, p)
		}
	}
}
