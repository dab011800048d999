package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/issuer"
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
