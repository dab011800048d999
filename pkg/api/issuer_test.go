package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Clouds read the issuer and its keys without a token, and may keep them.
func TestTheIssuerIsOpen(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const at = "/oidc/account/default"
	var d issuer.Discovery
	got := s.ask("GET", at+"/.well-known/openid-configuration", "", "Authorization", "").want(200, &d)
	if want := "https://slipway.example.com" + at; d.Issuer != want || d.Keys != want+"/jwks" {
		t.Errorf("the issuer is %+v; want %s", d, want)
	}
	var keys, again issuer.KeySet
	s.ask("GET", at+"/jwks", "", "Authorization", "Bearer nobody's").want(200, &keys)
	s.ask("GET", at+"/jwks?x=1", "", "Authorization", "").want(200, &again)
	if len(keys.Keys) == 0 || !cmp.Equal(keys, again) {
		t.Errorf("the keys are %+v, then %+v", keys, again)
	}
	for name, want := range map[string]string{"Cache-Control": "public, max-age=3600", "Content-Type": "application/json", "X-Content-Type-Options": "nosniff"} {
		if is := got.header.Get(name); is != want {
			t.Errorf("header %s is %q, want %q", name, is, want)
		}
	}
	if other := s.ask("GET", "/oidc/account/acme/jwks", "", "Authorization", ""); other.header.Get("Cache-Control") != "no-store" {
		t.Errorf("that there is no issuer may be kept: %v", other.header)
	} else {
		other.problem(404)
	}
	s.ask("POST", at+"/jwks", "{}", "Authorization", "").problem(404)
	s.ask("GET", "/v1/executions", "", "Authorization", "").problem(401)
}

// Who has the account's token makes new keys, once for each request, and
// everybody sees who did.
func TestKeysOfTokensAreRotated(t *testing.T) {
	t.Parallel()
	s := setup(t)
	web := "Bearer " + s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "w", Actor: "eve"})
	var before, made, again, seen issuer.Status
	s.ask("GET", "/v1/issuer", "", "Authorization", web).want(200, &before)
	if before.Issuer != "https://slipway.example.com/oidc/account/default" || len(before.Keys) == 0 || !before.Keys[0].Signs {
		t.Fatalf("the issuer is %+v", before)
	}
	s.ask("POST", "/v1/issuer/rotate", `{}`, "Authorization", web).problem(403)
	s.ask("POST", "/v1/issuer/rotate", `{"soon":true}`).problem(400)
	s.ask("POST", "/v1/issuer/rotate", `{"leaked":true}`, "Idempotency-Key", "k1").want(200, &made)
	s.ask("POST", "/v1/issuer/rotate", `{"leaked":true}`, "Idempotency-Key", "k1").want(200, &again)
	s.ask("GET", "/v1/issuer", "", "Authorization", web).want(200, &seen)
	if made.Keys[0].ID == before.Keys[0].ID || !cmp.Equal(made, again) || !cmp.Equal(made, seen) {
		t.Errorf("before %+v, made %+v, then %+v, seen %+v", before, made, again, seen)
	}
	var trail api.AuditList
	s.ask("GET", "/v1/audit", "").want(200, &trail)
	n := 0
	for _, r := range trail.Records {
		if r.Action == "ROTATE" {
			n++
			if r.Actor != "ada" || r.ID != made.Keys[len(made.Keys)-1].ID || !strings.HasSuffix(r.After, "have leaked") {
				t.Errorf("the trail says %+v", r)
			}
		}
	}
	if n != 1 {
		t.Errorf("the trail has %d rotations, want one", n)
	}
}
