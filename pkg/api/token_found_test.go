package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestWhoFindsATokenEndsIt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	account := ref.Scope{Account: "default"}
	found := func(text string) answer {
		t.Helper()
		return s.ask("POST", "/v1/tokens:revoke", string(must(json.Marshal(map[string]string{"token": text}))), "Content-Type", "application/json", "Authorization", "")
	}
	person := s.mint(access.Grant{Kind: store.TokenUser, Scope: account, Name: "found", Actor: "ada"})
	delegate := s.mint(access.Grant{Kind: store.TokenDelegate, Scope: account, Name: "d", Actor: "d"})
	session := s.mint(access.Grant{Kind: store.TokenSession, Scope: account, Name: "s", Actor: "ada", ExpiresAt: time.Now().Add(time.Hour)})
	for _, text := range []string{"x", "pat.default.x.y", person[:len(person)-1] + "x", strings.Replace(person, "pat.", "sat.", 1)} {
		found(text).want(204, nil) // as for one that is known
	}
	s.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+person).want(200, nil)
	s.ask("GET", "/v1/whoami", "", "Authorization", "", "Cookie", "__Host-slipway="+session).want(200, nil)
	for _, text := range []string{person, delegate, session} {
		found(text).want(204, nil)
		found(text).want(204, nil)
	}
	s.ask("GET", "/v1/whoami", "", "Authorization", "Bearer "+person).problem(401)
	s.ask("GET", "/v1/whoami", "", "Authorization", "", "Cookie", "__Host-slipway="+session).problem(401)
	s.ask("POST", "/v1/delegate/register", `{"id":"d1","name":"d"}`, "Content-Type", "application/json", "Authorization", "Bearer "+delegate).problem(401)
	s.ask("GET", "/v1/whoami", "").want(200, nil) // another's
	var told []audit.Record
	all, err := s.store.ListAudit(t.Context(), "default", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Action == audit.RevokeToken {
			told = append(told, r)
		}
		if strings.Contains(r.After, person) {
			t.Errorf("the audit trail tells the token: %+v", r)
		}
	}
	if len(told) != 3 || told[0].Actor != "whoever has the token" {
		t.Errorf("the audit trail tells %+v", told)
	}
}
