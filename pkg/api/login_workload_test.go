package api_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-cd/slipway/internal/testservers/idp"
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/store"
)

const audience = "https://slipway.example.com"

// runner is a server that programs of a CI log in to.
type runner struct {
	*keepers
}

func withCI(t *testing.T) *runner {
	t.Helper()
	r := &runner{&keepers{people(t, ""), &bytes.Buffer{}}}
	r.cfg.Login.Log = slog.New(slog.NewTextHandler(r.log, nil))
	r.idp.Bare()
	r.put(scope, "serviceAccount: {identifier: ci, name: CI}")
	r.put(scope, "roleAssignment: {identifier: ci, roleIdentifier: _pipeline_executor, resourceGroupIdentifier: _all_project_level_resources, principal: {type: SERVICE_ACCOUNT, identifier: ci}}")
	r.rule("github", "claims: {sub: \"repo:acme/web:*\", protected: \"true\"}")
	r.now = r.now.Add(time.Second)
	r.job("repo:acme/web:ref:refs/heads/main")
	return r
}

func (r *runner) rule(id, more string) {
	r.t.Helper()
	r.put("", fmt.Sprintf("loginProvider:\n  identifier: %s\n  name: CI\n  type: WORKLOAD\n  issuer: %s\n  audience: %s\n  serviceAccount: {identifier: ci, orgIdentifier: default, projectIdentifier: web}\n  %s\n", id, r.idp.URL, audience, more))
}

// job is what the issuer says of the program that asks.
func (r *runner) job(sub string) {
	r.idp.Person(idp.Claims{"sub": sub, "protected": true})
}

// shows logs in with a token of the issuer.
func (r *runner) shows(token, rule string, header ...string) answer {
	r.t.Helper()
	body := map[string]string{"token": token}
	if rule != "" {
		body["rule"] = rule
	}
	return r.sends("POST", "/v1/login/workload", "", body, header...)
}

func TestAProgramLogsInByAnIssuersToken(t *testing.T) {
	t.Parallel()
	r := withCI(t)
	token := r.idp.IDToken(audience, "")
	var made api.NewToken
	r.shows(token, "").want(200, &made)
	if !strings.HasPrefix(made.Secret, "sat.") || !made.ExpiresAt.Equal(r.now.Add(15*time.Minute)) {
		t.Errorf("the token is %+v", made.Token)
	}
	var who access.Whoami
	r.sends("GET", "/v1/whoami", made.Secret, nil).want(200, &who)
	if who.Actor != "service account default/default/web/ci" || who.Project != "web" {
		t.Errorf("it acts as %+v", who)
	}
	r.sends("GET", "/v1/pipelines/x/input-sets"+scope, made.Secret, nil)
	r.sends("PUT", "/v1/users/ada/password", made.Secret, map[string]string{"password": firstPassword}).problem(403)
	if told := r.trail(audit.Login); len(told) != 1 || !strings.Contains(told[0].After, `trust rule github, as "repo:acme/web:ref:refs/heads/main"`) {
		t.Errorf("the audit trail tells %+v", told)
	}
	var again api.NewToken
	r.shows(token, "github").want(200, &again) // what fails on the way is tried again
	if again.ID == made.ID {
		t.Error("a token that goes on is put in another's place")
	}
	r.now = r.now.Add(15 * time.Minute)
	if p := r.sends("GET", "/v1/whoami", made.Secret, nil).problem(401); p.Code != fault.ExpiredToken {
		t.Errorf("afterwards it is %+v", p)
	}
	var ways login.Logins
	if r.ask("GET", "/v1/login", "").want(200, &ways); len(ways.Providers) != 1 || ways.Providers[0].ID != "corp" {
		t.Errorf("people are shown %+v", ways)
	}
}

// Tokens come in the place of those that have ended, each in that of another.
func TestWorkloadsLeaveNoMoreTokensThanThereWereAtOnce(t *testing.T) {
	t.Parallel()
	r := withCI(t)
	for range 3 {
		seen := map[string]bool{}
		var mu sync.Mutex
		var wait sync.WaitGroup
		token := r.idp.IDToken(audience, "")
		for n := range 4 {
			wait.Go(func() {
				var made api.NewToken
				r.shows(token, "", "From", fmt.Sprintf("198.51.%d.1:1", n)).want(200, &made)
				mu.Lock()
				defer mu.Unlock()
				seen[made.ID] = true
			})
		}
		wait.Wait()
		if len(seen) != 4 {
			t.Errorf("two of them have one token: %v", seen)
		}
		r.now = r.now.Add(20 * time.Minute)
	}
	all, err := r.store.ListTokens(t.Context(), "default", store.TokenUser)
	if err != nil || len(all) > 6 { // and the one of the test
		t.Errorf("%d tokens are kept (%v)", len(all), err)
	}
}

func TestWhichTokensOfIssuersAreNotTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bend  func(idp.Claims)
		token func(r *runner) string
		why   login.Failure
		actor string // in the audit trail
	}{
		"another branch's":  {bend: func(c idp.Claims) { c["sub"] = "repo:acme/web-evil:ref" }, why: login.Untrusted},
		"another claim":     {bend: func(c idp.Claims) { c["protected"] = false }, why: login.Untrusted},
		"without a claim":   {bend: func(c idp.Claims) { delete(c, "protected") }, why: login.Untrusted},
		"for another":       {bend: func(c idp.Claims) { c["aud"] = "https://other.example.com" }, why: login.Unsigned},
		"for several":       {bend: func(c idp.Claims) { c["aud"] = []string{audience, "https://other.example.com"} }, why: login.Unsigned},
		"ended":             {bend: func(c idp.Claims) { c["exp"] = 1 }, why: login.Unsigned},
		"of later":          {bend: func(c idp.Claims) { c["nbf"] = 99999999999 }, why: login.Unsigned},
		"of another issuer": {bend: func(c idp.Claims) { c["iss"] = "https://evil.example.com" }, why: login.Untrusted, actor: "login provider ?"},
		"unsigned": {token: func(r *runner) string {
			return strings.Join(append(strings.Split(r.idp.IDToken(audience, ""), ".")[:2], ""), ".")
		}, why: login.Unsigned},
		"signed by another": {token: func(r *runner) string {
			return idp.Sign(r.t, jose.HS256, []byte(strings.Repeat("k", 32)), idp.Claims{"iss": r.idp.URL, "aud": audience, "sub": "repo:acme/web:x", "protected": true, "iat": r.now.Unix(), "exp": r.now.Add(time.Minute).Unix()})
		}, why: login.Unsigned},
		"no token": {token: func(*runner) string { return "x.y.z" }, why: login.Untrusted, actor: "login provider ?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := withCI(t)
			if c.bend != nil {
				r.idp.Bend(c.bend)
			}
			token := r.idp.IDToken(audience, "")
			if c.token != nil {
				token = c.token(r)
			}
			if p := r.shows(token, "").problem(401); p.Message != c.why.Sentence() {
				t.Errorf("it is told %q; want %q", p.Message, c.why.Sentence())
			}
			actor := "login provider github"
			if c.actor != "" {
				actor = c.actor
			}
			if told := r.trail(audit.LoginFailed); len(told) != 1 || told[0].Actor != actor || !strings.HasPrefix(told[0].After, string(c.why)) {
				t.Errorf("the audit trail tells %+v", told)
			}
			if strings.Contains(r.log.String(), token) {
				t.Errorf("the log tells the token: %s", r.log)
			}
		})
	}
}

func TestTrustRulesAreChosen(t *testing.T) {
	t.Parallel()
	r := withCI(t)
	r.rule("all", "ttl: 1h\n  claims: {sub: \"repo:acme/*\"}")
	token := r.idp.IDToken(audience, "")
	if p := r.shows(token, "").problem(400); !strings.HasSuffix(p.Message, "want one of all, github") {
		t.Errorf("of two rules: %q", p.Message)
	}
	var made api.NewToken
	if r.shows(token, "all").want(200, &made); !made.ExpiresAt.Equal(r.now.Add(time.Hour)) {
		t.Errorf("it ends at %s", made.ExpiresAt)
	}
	r.shows(token, "nobody").problem(401)
	r.shows(token, "all", "Sec-Fetch-Site", "cross-site").problem(403)
	r.ask("DELETE", "/v1/entities/serviceAccount/ci"+scope, "").problem(409) // rules name it
	// An issuer of a machine's cloud is asked nothing.
	r.put("", "loginProvider: {identifier: cloud, name: Cloud, type: WORKLOAD, issuer: \"https://169.254.169.254\", audience: x, claims: {sub: x}, serviceAccount: {identifier: ci}}")
	token = idp.Sign(t, jose.HS256, []byte(strings.Repeat("k", 32)), idp.Claims{"iss": "https://169.254.169.254", "aud": "x", "sub": "x"})
	if p := r.shows(token, "cloud").problem(401); p.Message != login.Away.Sentence() || !strings.Contains(r.log.String(), "nothing is sent to such an address") {
		t.Errorf("the answer is %q, and the log %s", p.Message, r.log)
	}
}
