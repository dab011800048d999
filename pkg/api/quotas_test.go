package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestAScopeHasSoManyDocuments(t *testing.T) {
	t.Parallel()
	s := setup(t)
	lists := func(from, to int) answer {
		t.Helper()
		var docs []map[string]string
		for i := from; i < to; i++ {
			docs = append(docs, map[string]string{"yaml": fmt.Sprintf("ipAllowlist: {identifier: l%d, name: L, enabled: false, ipAddress: 203.0.113.7}", i)})
		}
		body, err := json.Marshal(map[string]any{"documents": docs})
		if err != nil {
			t.Fatal(err)
		}
		return s.ask("POST", "/v1/entities:apply", string(body), "Content-Type", "application/json")
	}
	refused := func(a answer, there, limit string) {
		t.Helper()
		if p := a.problem(413); p.Code != fault.TooLarge || !strings.Contains(p.Message, "has "+there) || !strings.Contains(p.Message, "over "+limit) {
			t.Errorf("%+v", p)
		}
	}
	refused(lists(0, 101), "0", "100")
	lists(0, 99).want(200, nil)
	refused(lists(99, 101), "99", "100")
	var good atomic.Int64
	var all sync.WaitGroup
	for i := range 4 { // of those that come at once, one is the last that has room
		all.Go(func() {
			if a := lists(200+i, 201+i); a.status == http.StatusOK {
				good.Add(1)
			}
		})
	}
	all.Wait()
	if got := good.Load(); got != 1 {
		t.Errorf("%d lists found the last place", got)
	}
	lists(0, 99).want(200, nil) // what there is may be saved
	s.ask("PUT", "/v1/entities", "ipAllowlist: {identifier: l0, name: Changed, enabled: false, ipAddress: 203.0.113.7}", "Content-Type", "application/yaml").want(200, nil)
	refused(s.ask("POST", "/v1/entities:validate", "ipAllowlist: {identifier: more, name: L, enabled: false, ipAddress: 203.0.113.7}", "Content-Type", "application/yaml"), "100", "100")
	s.ask("DELETE", "/v1/entities/ipAllowlist/l0", "").want(204, nil)
	lists(300, 301).want(200, nil)
	for i := range 10 {
		s.put("", fmt.Sprintf("streamingDestination: {identifier: d%d, name: D, spec: {type: HTTP, url: https://siem.example.com/in, secretRef: siem}}", i))
	}
	refused(s.ask("PUT", "/v1/entities", "streamingDestination: {identifier: more, name: D, spec: {type: HTTP, url: https://siem.example.com/in, secretRef: siem}}", "Content-Type", "application/yaml"), "10", "10")
}

func TestAnAccountHasSoManyUsersAndPolicies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	o := builtin.Options(ref.Scope{})
	o.CheckRego = rego.New().Check
	judges := judge.New(judge.Config{Entities: s.store.Entities, Evaluations: s.store.Evaluations, Engine: rego.New(), Now: time.Now, Alone: true})
	s.cfg.Catalog = catalog.New(catalog.Config{Store: s.store, Options: o, Policies: judges, Now: time.Now})
	s.Server = api.New(s.cfg)
	account := ref.Scope{Account: "default"}
	for _, c := range []struct {
		kind ref.Kind
		most int
		doc  string
	}{
		{ref.User, 5000, "user: {identifier: %s, name: N}"},
		{ref.Policy, 500, "policy: {identifier: %s, name: N, rego: 'package p'}"},
	} {
		var saves []store.Save
		for i := range c.most - 1 {
			id := fmt.Sprintf("n%d", i)
			saves = append(saves, store.Save{
				Entity: store.Entity{Key: store.EntityKey{Scope: account, Kind: c.kind, ID: id}, Name: "N", YAML: fmt.Appendf(nil, c.doc, id)},
				Audit:  audit.Record{Time: time.Now(), Scope: account, Action: audit.Create, Kind: string(c.kind), ID: id},
			})
		}
		if _, err := s.store.SaveEntities(t.Context(), saves); err != nil {
			t.Fatal(err)
		}
		save := func(id string) answer {
			t.Helper()
			return s.ask("PUT", "/v1/entities", fmt.Sprintf(c.doc, id), "Content-Type", "application/yaml")
		}
		save("last").want(200, nil)
		if p := save("more").problem(413); !strings.Contains(p.Message, fmt.Sprintf("has %d documents of the kind %s", c.most, c.kind)) {
			t.Errorf("%+v", p)
		}
		save("last").want(200, nil)
	}
}

func TestSomebodyHasSoManyTokens(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.put("", "serviceAccount: {identifier: ci, name: CI}")
	s.put("", "serviceAccount: {identifier: cd, name: CD}")
	const ofCI = `{"kind":"user","name":"ci","serviceAccount":"ci"}`
	var made api.NewToken
	for range 100 {
		s.makes("", ofCI).want(200, &made)
	}
	for _, a := range []answer{s.makes("", ofCI), s.ask("POST", "/v1/tokens/"+made.ID+"/rotate", `{"keepHours":1}`, "Content-Type", "application/json")} {
		if p := a.problem(413); p.Code != fault.TooLarge || !strings.Contains(p.Message, "the serviceAccount default/ci has 100 tokens") {
			t.Errorf("%+v", p)
		}
	}
	s.makes("", strings.Replace(ofCI, `:"ci"}`, `:"cd"}`, 1)).want(200, nil)
	s.ask("POST", "/v1/tokens/"+made.ID+"/rotate", "").want(200, &made) // which ends the old one
	s.ask("DELETE", "/v1/tokens/"+made.ID, "").want(204, nil)
	s.makes("", ofCI).want(200, nil)
}
