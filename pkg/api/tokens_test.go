package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestATokenWorksUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var made api.NewToken
	s.ask("POST", "/v1/tokens?org=default", `{"kind":"user","name":"ci"}`).want(200, &made)
	bearer := "Bearer " + made.Secret
	s.ask("GET", "/v1/executions?org=default", "", "Authorization", bearer).want(200, nil)
	s.ask("GET", "/v1/executions", "", "Authorization", bearer).problem(403)

	got := s.ask("GET", "/v1/tokens", "").want(200, nil)
	if strings.Contains(string(got.body), made.Secret[strings.LastIndex(made.Secret, "."):]) || !strings.Contains(string(got.body), made.ID) {
		t.Errorf("the list is %s; want %s without its secret", got.body, made.ID)
	}
	s.ask("DELETE", "/v1/tokens/"+made.ID, "").want(204, nil)
	s.ask("DELETE", "/v1/tokens/"+made.ID, "").want(204, nil)
	s.ask("GET", "/v1/executions?org=default", "", "Authorization", bearer).problem(401)

	audited := string(s.ask("GET", "/v1/audit", "").want(200, nil).body)
	if strings.Count(audited, "CREATE_TOKEN") != 1 || strings.Count(audited, "REVOKE_TOKEN") != 1 {
		t.Errorf("the audit trail is %s; want one CREATE_TOKEN and one REVOKE_TOKEN", audited)
	}
}

func TestOnlyAnAccountsTokenNamesAnotherActor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	web := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "w", Actor: "eve"})
	var made api.NewToken
	s.ask("POST", "/v1/tokens", `{"kind":"user","name":"x","actor":"bob"}`).want(200, &made)
	if made.Actor != "bob" {
		t.Errorf("the actor is %q; want bob", made.Actor)
	}
	const own = "/v1/tokens" + scope
	s.ask("POST", own, `{"kind":"user","name":"x","actor":"ada"}`, "Authorization", "Bearer "+web).problem(403)
	s.ask("POST", own, `{"kind":"user","name":"x"}`, "Authorization", "Bearer "+web).want(200, &made)
	if made.Actor != "eve" {
		t.Errorf("the actor is %q; want eve, who asked", made.Actor)
	}
	s.ask("DELETE", "/v1/tokens/"+made.ID, "", "Authorization", "Bearer "+web).want(204, nil)
}

func TestAnIdempotencyKeyMakesOneToken(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ask := func(name string) answer {
		return s.ask("POST", "/v1/tokens", `{"kind":"delegate","name":"`+name+`"}`, "Idempotency-Key", "k1")
	}
	ask("a").want(200, nil)
	if p := ask("a").problem(409); p.Code != fault.Conflict || !strings.Contains(p.Message, "shown once") {
		t.Errorf("again: %+v; want that a token is shown once", p)
	}
	if p := ask("b").problem(409); !strings.Contains(p.Message, "another request") {
		t.Errorf("another body: %+v; want that the key was used for another request", p)
	}
	var all api.TokenList
	s.ask("GET", "/v1/tokens?kind=delegate", "").want(200, &all)
	if len(all.Tokens) != 1 {
		t.Errorf("there are %d tokens; want 1", len(all.Tokens))
	}
}

// A token that ends makes none that goes on, by itself or by a session.
func TestATokenDoesntOutliveItselfByAnother(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var first api.NewToken
	s.ask("POST", "/v1/tokens", `{"kind":"user","name":"an hour","hours":1}`).want(200, &first)
	if left := time.Until(first.ExpiresAt); left <= 0 || left > time.Hour {
		t.Fatalf("a token of an hour ends in %s", left)
	}
	c, _ := s.opened("", first.Secret)
	for _, body := range []string{`{"kind":"user","name":"for ever"}`, `{"kind":"user","name":"a year","hours":8760}`} {
		var made api.NewToken
		s.ask("POST", "/v1/tokens", body, "Authorization", "Bearer "+first.Secret).want(200, &made)
		if made.ExpiresAt.IsZero() || made.ExpiresAt.After(first.ExpiresAt) {
			t.Errorf("%s: a token that ends at %s makes one that ends at %s", body, first.ExpiresAt, made.ExpiresAt)
		}
		s.by(c, "POST", "/v1/tokens", body).want(200, &made)
		if made.ExpiresAt.IsZero() || made.ExpiresAt.After(first.ExpiresAt) {
			t.Errorf("%s: its session makes one that ends at %s", body, made.ExpiresAt)
		}
	}
	old, text := access.Mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: "old", Actor: "ada", ExpiresAt: time.Now().Add(-time.Second)}, time.Now().Add(-time.Hour))
	if err := s.store.PutToken(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if p := s.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+text).problem(401); p.Code != fault.ExpiredToken {
		t.Errorf("a token that has ended gets %+v", p)
	}
}

// A rotated token has another in its place, of the same bearer and as long a life,
// and goes on for as long as was said.
func TestRotatedTokens(t *testing.T) {
	t.Parallel()
	s := setup(t)
	make := func(body string) (made api.NewToken) {
		s.ask("POST", "/v1/tokens?org=default", body).want(200, &made)
		return made
	}
	opens := func(secret string, status int) {
		t.Helper()
		s.ask("GET", "/v1/executions?org=default", "", "Authorization", "Bearer "+secret).want(status, nil)
	}
	old := make(`{"kind":"user","name":"ci","actor":"robot","hours":100}`)
	var next, third api.NewToken
	s.ask("POST", "/v1/tokens/"+old.ID+"/rotate?org=default", `{"keepHours":24}`).want(200, &next)
	if next.ID == old.ID || next.Actor != "robot" || next.Org != "default" || next.Name != "ci" || next.ExpiresAt.Sub(next.CreatedAt).Round(time.Second) != old.ExpiresAt.Sub(old.CreatedAt).Round(time.Second) {
		t.Errorf("%+v was rotated to %+v", old.Token, next.Token)
	}
	opens(old.Secret, 200)
	opens(next.Secret, 200)
	var list api.TokenList
	s.ask("GET", "/v1/tokens?org=default", "").want(200, &list)
	for _, one := range list.Tokens {
		if left := time.Until(one.ExpiresAt); one.ID == old.ID && (left <= 23*time.Hour || left > 24*time.Hour) {
			t.Errorf("the old one ends in %s; want a day", left)
		}
	}
	s.ask("POST", "/v1/tokens/"+next.ID+"/rotate?org=default", "").want(200, &third)
	opens(next.Secret, 401)
	opens(third.Secret, 200)
	s.ask("POST", "/v1/tokens/"+next.ID+"/rotate?org=default", "").problem(409)

	// By itself it has no longer life.
	var own api.NewToken
	s.ask("POST", "/v1/tokens/"+third.ID+"/rotate?org=default", `{"keepHours":1}`, "Authorization", "Bearer "+third.Secret).want(200, &own)
	if own.ExpiresAt.After(third.ExpiresAt) {
		t.Errorf("a token that ends at %s has rotated itself to one that ends at %s", third.ExpiresAt, own.ExpiresAt)
	}
	forever := make(`{"kind":"delegate","name":"far","binding":{"tags":["eu"]}}`)
	next = api.NewToken{}
	s.ask("POST", "/v1/tokens/"+forever.ID+"/rotate?org=default", "").want(200, &next)
	if !next.ExpiresAt.IsZero() || next.Binding == nil || len(next.Binding.Tags) != 1 {
		t.Errorf("the delegate's was rotated to %+v", next.Token)
	}
	web := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "w", Actor: "eve"})
	s.ask("POST", "/v1/tokens/"+next.ID+"/rotate?org=default", "", "Authorization", "Bearer "+web).problem(404)
	key := func() answer {
		return s.ask("POST", "/v1/tokens/"+next.ID+"/rotate?org=default", `{"keepHours":2}`, "Idempotency-Key", "k")
	}
	key().want(200, nil)
	key().problem(409)
	audited := string(s.ask("GET", "/v1/audit", "").want(200, nil).body)
	if n := strings.Count(audited, "ROTATE_TOKEN"); n != 5 {
		t.Errorf("the audit trail tells of %d rotations; want 5", n)
	}
}
