package api_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// askFrom is ask as from some address.
func (s *server) askFrom(address, method, path, body string, headers ...string) answer {
	s.t.Helper()
	r := s.request(method, path, body, headers...)
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 4711).String()
	return s.send(r)
}

const (
	inOffice, elsewhere = "203.0.113.7", "198.51.100.7"
	officeList          = "ipAllowlist: {identifier: office, name: Office, ipAddress: 203.0.113.0/24}"
)

func (s *server) listFrom(address, doc string) answer {
	s.t.Helper()
	return s.askFrom(address, "PUT", "/v1/entities", doc, "Content-Type", "application/yaml")
}

func TestWhomAnIPAllowlistKeepsOut(t *testing.T) {
	t.Parallel()
	s := setup(t)
	delegate := s.mint(access.Grant{Kind: store.TokenDelegate, Scope: ref.Scope{Account: "default"}, Name: "d"})
	session := strings.SplitN(s.ask("POST", "/v1/login/token", `{"token":"`+s.token+`"}`, "Content-Type", "application/json", "Origin", "https://slipway.example.com", "Authorization", "", "X-Slipway-Console", "1", "Sec-Fetch-Site", "same-origin").want(200, nil).header.Get("Set-Cookie"), ";", 2)[0]
	ofConsole := []string{"Authorization", "", "Cookie", session, "Sec-Fetch-Site", "same-origin", "X-Slipway-Console", "1"}
	s.listFrom(inOffice, officeList).want(200, nil)
	s.listFrom(inOffice, "ipAllowlist: {identifier: ci, name: CI, allowedSourceType: [API], ipAddress: '2001:db8::/32'}").want(200, nil)
	for _, c := range []struct {
		name, address, method, path string
		headers                     []string
		body                        string
		kept                        bool
	}{
		{name: "a token from the office", address: inOffice, path: "/v1/whoami"},
		{name: "a token from elsewhere", address: elsewhere, path: "/v1/whoami", kept: true},
		{name: "and with what a client says of itself", address: elsewhere, path: "/v1/whoami", headers: []string{"X-Forwarded-For", inOffice}, kept: true},
		{name: "of CI", address: "2001:db8::1", path: "/v1/whoami"},
		{name: "a session from the office", address: inOffice, path: "/v1/whoami", headers: ofConsole},
		{name: "a session from where CI is", address: "2001:db8::1", path: "/v1/whoami", headers: ofConsole, kept: true},
		{name: "a login from elsewhere", address: elsewhere, path: "/v1/login", headers: []string{"Sec-Fetch-Site", "same-origin"}, kept: true},
		{name: "a login from the office", address: inOffice, path: "/v1/login", headers: []string{"Sec-Fetch-Site", "same-origin"}},
		{name: "a program's login from elsewhere", address: elsewhere, method: "POST", path: "/v1/login/workload", body: "{}", kept: true},
		{name: "an approval link from elsewhere", address: elsewhere, path: "/v1/approvals/x", kept: true},
		{name: "SCIM from elsewhere", address: elsewhere, path: "/scim/v2/default/Users", kept: true},
		{name: "by Harness's path", address: elsewhere, path: "/gateway/ng/api/scim/account/default/Users", kept: true},
		{name: "a delegate from elsewhere", address: elsewhere, method: "POST", path: "/v1/delegate/register", headers: []string{"Authorization", "Bearer " + delegate}, body: `{"id":"d1","name":"d"}`},
		{name: "a webhook from elsewhere", address: elsewhere, method: "POST", path: "/webhooks/default/custom/x", body: "{}"},
		{name: "the issuer's keys from elsewhere", address: elsewhere, path: issuer.Path + "default/.well-known/openid-configuration"},
		{name: "health from elsewhere", address: elsewhere, path: "/healthz"},
		{name: "who has found a token, from elsewhere", address: elsewhere, method: "POST", path: "/v1/tokens:revoke", body: `{"token":"pat.default.a.b"}`, headers: []string{"Content-Type", "application/json"}},
	} {
		method := c.method
		if method == "" {
			method = "GET"
		}
		a := s.askFrom(c.address, method, c.path, c.body, c.headers...)
		if kept := a.status == 403 && strings.Contains(string(a.body), "IP allow lists"); kept != c.kept {
			t.Errorf("%s: %d %s; want kept out: %v", c.name, a.status, a.body, c.kept)
		}
	}
	trail, err := s.store.ListAudit(t.Context(), "default", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, r := range trail {
		if r.Action == audit.AccessDenied {
			told = append(told, r.Kind+" "+r.After)
		}
	}
	if want := []string{"token from 198.51.100.7", "session from 2001:db8::1"}; !slices.Equal(told, want) { // each once
		t.Errorf("the audit trail tells of %q; want %q", told, want)
	}
}

func TestNobodyLocksThemselvesOut(t *testing.T) {
	t.Parallel()
	s := setup(t)
	refused := func(a answer, why string) {
		t.Helper()
		if p := a.problem(409); p.Code != fault.Conflict || !strings.Contains(p.Message, why) {
			t.Errorf("%+v; want %q", p, why)
		}
	}
	refused(s.listFrom(elsewhere, officeList), "you come from "+elsewhere)
	s.askFrom(elsewhere, "GET", "/v1/whoami", "").want(200, nil) // nothing was saved
	refused(s.askFrom(elsewhere, "POST", "/v1/entities:validate", officeList, "Content-Type", "application/yaml"), "you come from")
	s.listFrom(elsewhere, strings.Replace(officeList, "name:", "enabled: false, name:", 1)).want(200, nil)
	s.listFrom(elsewhere, strings.Replace(officeList, "name:", "allowedSourceType: [UI], name:", 1)).want(200, nil) // by a token

	home := "ipAllowlist: {identifier: home, name: Home, ipAddress: " + elsewhere + "}"
	set := func(documents ...string) answer {
		t.Helper()
		body := `{"documents":[`
		for i, d := range documents {
			if i > 0 {
				body += ","
			}
			body += `{"yaml":"` + d + `"}`
		}
		return s.askFrom(elsewhere, "POST", "/v1/entities:apply", body+"]}", "Content-Type", "application/json")
	}
	refused(set(officeList), "you come from")
	set(officeList, home).want(200, nil) // with one that has its author
	refused(s.askFrom(elsewhere, "DELETE", "/v1/entities/ipAllowlist/home", ""), "you come from")
	refused(s.listFrom(elsewhere, strings.Replace(home, elsewhere, "192.0.2.9", 1)), "you come from")
	refused(s.listFrom(elsewhere, strings.Replace(home, "name:", "enabled: false, name:", 1)), "you come from")
	s.askFrom(elsewhere, "DELETE", "/v1/entities/ipAllowlist/office", "").want(204, nil)
	s.askFrom(elsewhere, "DELETE", "/v1/entities/ipAllowlist/home", "").want(204, nil)
	s.askFrom(inOffice, "GET", "/v1/whoami", "").want(200, nil) // there is none any more
}

func TestProxiesAreBelievedThatTheServerWasToldOf(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.listFrom(inOffice, officeList).want(200, nil)
	s.cfg.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("127.0.0.1/32")}
	s.Server = api.New(s.cfg)
	for _, c := range []struct {
		name, remote, forwarded string
		status                  int
	}{
		{"for the office", "10.0.0.5", inOffice, 200},
		{"with a port", "10.0.0.5", inOffice + ":4711", 200},
		{"through two proxies", "10.0.0.5", inOffice + ", 127.0.0.1", 200},
		{"for somebody who says to be in the office", "10.0.0.5", inOffice + ", " + elsewhere, 403},
		{"through a proxy that nobody told of", "10.0.1.5", inOffice, 403},
		{"by somebody who says nothing", "10.0.0.5", "", 403},
		{"for what is no address", "10.0.0.5", inOffice + ", unknown", 403},
		{"for a proxy itself", "10.0.0.5", "10.0.0.6", 403},
	} {
		var headers []string
		if c.forwarded != "" {
			headers = []string{"X-Forwarded-For", c.forwarded}
		}
		if a := s.askFrom(c.remote, "GET", "/v1/whoami", "", headers...); a.status != c.status {
			t.Errorf("%s: %d; want %d: %s", c.name, a.status, c.status, a.body)
		}
	}
	s.cfg.LetAllIn = true
	s.Server = api.New(s.cfg)
	s.askFrom(elsewhere, "DELETE", "/v1/entities/ipAllowlist/office", "").want(204, nil)
}
