package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// endpoints lists every method and path of the OpenAPI description that wants
// a token: all but those of one-time links.
func endpoints(t *testing.T, s *server) [][2]string {
	t.Helper()
	doc, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(doc, &described); err != nil {
		t.Fatal(err)
	}
	all := [][2]string{{"GET", "/openapi.json"}, {"GET", "/"}, {"GET", "/v1/delegate/x/socket"}, {"GET", "/healthz/x"}}
	for path, methods := range described.Paths {
		if strings.HasPrefix(path, "/webhooks/") || strings.HasPrefix(path, linkPaths) || strings.HasPrefix(path, "/v1/login") || path == "/v1/tokens:revoke" || strings.HasPrefix(path, issuer.Path) { // they have tests of their own
			continue
		}
		for method := range methods {
			all = append(all, [2]string{strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path)})
		}
	}
	if len(all) < 25 {
		t.Fatalf("found %d endpoints; the description must be incomplete", len(all))
	}
	return all
}

func TestEveryEndpointWantsAToken(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, e := range endpoints(t, s) {
		for _, token := range []string{"", "Bearer x", "Bearer pat.default.nobody.guess", "Basic " + s.token} {
			a := s.ask(e[0], e[1], "{}", "Authorization", token)
			if strings.HasPrefix(e[1], "/scim/") { // which has bodies of its own
				a.refused(401, "")
			} else if p := a.problem(401); p.Code != fault.Unauthenticated {
				t.Errorf("%s %s with %q: code %s", e[0], e[1], token, p.Code)
			}
		}
	}
	if got := s.ask("GET", "/healthz", "", "Authorization", "").want(204, nil); len(got.body) > 0 {
		t.Errorf("/healthz says %q; want nothing", got.body)
	}
}

// linkPaths is where a link stands in for a token.
const linkPaths = "/v1/approvals/"

// Without a link nothing is to be had there, whatever token comes with it.
func TestLinksAreKnownOrRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, authorization := range []string{"", "Bearer " + s.token} {
		for _, method := range []string{"GET", "POST"} {
			if p := s.ask(method, linkPaths+"guess", `{"action":"APPROVE"}`, "Authorization", authorization).problem(401); p.Code != fault.Unauthenticated {
				t.Errorf("%s with %q: code %s", method, authorization, p.Code)
			}
		}
		s.ask("GET", linkPaths, "", "Authorization", authorization).problem(404)
	}
}

func TestTokensOpenTheirOwnEndpointsOnly(t *testing.T) {
	t.Parallel()
	s := setup(t)
	delegate := s.mint(access.Grant{Kind: store.TokenDelegate, Scope: ref.Scope{Account: "default"}, Name: "d", Actor: "d"})
	for _, e := range endpoints(t, s) {
		token := s.token
		if !strings.HasPrefix(e[1], "/v1/delegate/") {
			token = delegate
		}
		a := s.ask(e[0], e[1], "{}", "Authorization", "Bearer "+token)
		if strings.HasPrefix(e[1], "/scim/") {
			a.refused(403, "")
		} else if p := a.problem(403); p.Code != fault.Forbidden {
			t.Errorf("%s %s: code %s; want FORBIDDEN", e[0], e[1], p.Code)
		}
	}
}

func TestAPIKeyHeaderIsAToken(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("GET", "/v1/delegates", "", "Authorization", "", "x-api-key", s.token).want(200, nil)
}

func TestATokenIsBoundToItsScope(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(environment)
	web := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "w", Actor: "eve"})
	other := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "shop"}, Name: "o", Actor: "eve"})
	const path = "/v1/entities/environment/dev"
	for _, c := range []struct {
		name, token, path string
		want              int
	}{
		{"own project", web, path + "?org=default&project=web", 200},
		{"another project", other, path + "?org=default&project=web", 403},
		{"its organization", web, path + "?org=default", 403},
		{"its account", web, path, 403},
		{"the account's audit trail", web, "/v1/audit", 403},
		{"a project without organization", s.token, path + "?project=web", 400},
	} {
		if got := s.ask("GET", c.path, "", "Authorization", "Bearer "+c.token); got.status != c.want {
			t.Errorf("%s: status %d; want %d: %s", c.name, got.status, c.want, got.body)
		}
	}
	doc := strings.Replace(environment, "identifier: dev", "identifier: dev\n  orgIdentifier: default\n  projectIdentifier: web", 1)
	s.ask("PUT", "/v1/entities?org=default&project=shop", doc, "Authorization", "Bearer "+other).want(400, nil)
}

// TestATokenSavesNothingAround: what lives with an environment lives in that
// one's scope, which a token of a project doesn't reach.
func TestATokenSavesNothingAround(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("PUT", "/v1/entities", strings.Replace(environment, "identifier: dev", "identifier: prod", 1), "Content-Type", "application/yaml").want(200, nil)
	web := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "web"}, Name: "w", Actor: "eve"})
	doc := `infrastructureDefinition:
  name: cluster
  identifier: cluster
  environmentRef: account.prod
  deploymentType: Kubernetes
  type: KubernetesDirect
  spec: {connectorRef: mine, namespace: prod, releaseName: web}
`
	for _, at := range [][2]string{{"PUT", "/v1/entities"}, {"POST", "/v1/entities:validate"}} {
		if p := s.ask(at[0], at[1]+scope, doc, "Content-Type", "application/yaml", "Authorization", "Bearer "+web).problem(403); p.Code != fault.Forbidden {
			t.Errorf("%s: %s; want FORBIDDEN", at[1], p.Code)
		}
	}
	s.ask("GET", "/v1/entities/infrastructureDefinition/cluster?env=prod", "").problem(404)
}

func TestErrorsHaveOneShape(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     fault.Code
		says                     string
	}{
		{"no such endpoint", "GET", "/v1/nothing", "", 404, fault.NotFound, "no endpoint GET /v1/nothing"},
		{"wrong method", "PATCH", "/v1/entities", "", 404, fault.NotFound, "no endpoint PATCH"},
		{"no such entity", "GET", "/v1/entities/service/web" + scope, "", 404, fault.NotFound, "web"},
		{"wrong kind", "GET", "/v1/entities/robot" + scope, "", 400, fault.Invalid, "path.kind"},
		{"limit too large", "GET", "/v1/executions" + scope + "&limit=501", "", 400, fault.Invalid, "query.limit"},
		{"wrong page token", "GET", "/v1/delegates?pageToken=%21", "", 400, fault.Invalid, "pageToken"},
		{"body isn't JSON", "POST", "/v1/tokens", "{", 400, fault.Invalid, "body"},
		{"body lacks a key", "POST", "/v1/tokens", `{"kind":"user"}`, 400, fault.Invalid, "name"},
		{"body has an unknown key", "POST", "/v1/tokens", `{"kind":"user","name":"x","colour":"red"}`, 400, fault.Invalid, "colour"},
		{"document too large", "PUT", "/v1/entities" + scope, strings.Repeat("#", 3<<20+1), 413, fault.TooLarge, "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := s.ask(c.method, c.path, c.body, "X-Request-Id", "r-1", "Accept", "application/yaml, */*")
			p := got.problem(c.status)
			if p.Code != c.code || !strings.Contains(p.Message, c.says) || p.RequestID != "r-1" {
				t.Errorf("got %+v; want code %s, a message with %q and request r-1", p, c.code, c.says)
			}
			var keys map[string]any
			if err := json.Unmarshal(got.body, &keys); err != nil {
				t.Fatal(err)
			}
			var names []string
			for k := range keys {
				names = append(names, k)
			}
			slices.Sort(names)
			if diff := cmp.Diff([]string{"code", "details", "message", "requestId"}, names); diff != "" {
				t.Errorf("keys of the body (-want +got):\n%s", diff)
			}
			if _, ok := keys["details"].([]any); !ok {
				t.Errorf("details is %v; want a list", keys["details"])
			}
			if ct := got.header.Get("Content-Type"); ct != "application/json" {
				t.Errorf("content type %q", ct)
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if got := s.ask("GET", "/healthz", "", "X-Request-Id", "abc-1").header.Get("X-Request-Id"); got != "abc-1" {
		t.Errorf("the request's own id became %q", got)
	}
	for _, bad := range []string{"", strings.Repeat("x", 65), "a\nb"} {
		if got := s.ask("GET", "/healthz", "", "X-Request-Id", bad).header.Get("X-Request-Id"); got == bad || len(got) != 16 {
			t.Errorf("id %q became %q; want a new one", bad, got)
		}
	}
}
