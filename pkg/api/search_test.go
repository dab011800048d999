package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// searched is what a search has found.
type searched struct {
	Matches []struct {
		api.EntityKey
		Name, Execution string
		Sequence        int64
	}
	Complete bool
}

// A search finds what begins with a text, in a scope and around it; of that what
// the caller may see.
func TestSearching(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(environment)
	s.save(pipeline)
	s.save("environment: {name: The Hello world, identifier: zone, type: PreProduction}\n")
	s.ask("PUT", "/v1/entities", "environment: {name: Help desk, identifier: desk, type: Production}\n").want(200, nil)
	s.ask("PUT", "/v1/entities?org=default&project=shop", "environment: {name: Hello, identifier: hello, type: Production}\n").want(200, nil)
	web := ref.Scope{Account: "default", Org: "default", Project: "web"}
	run, err := s.store.CreateExecution(t.Context(), store.Execution{ID: "x1", Scope: web, Pipeline: "hello", Name: "hello", PlanHash: "h", Status: plan.Success, StartedAt: time.Unix(1_800_000_000, 0)}, []byte("{}"), audit.Record{Scope: web})
	if err != nil {
		t.Fatal(err)
	}
	other := s.mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: "default", Org: "default", Project: "shop"}, Name: "o", Actor: "eve"})
	for name, tt := range map[string]struct {
		query, token string
		want         []string
	}{
		"by identifier, name and word": {query: scope + "&q=HEL", want: []string{"environment desk", "pipeline hello", "environment zone"}},
		"the identifier first":         {query: scope + "&q=zone", want: []string{"environment zone"}},
		"not in the middle":            {query: scope + "&q=ello"},
		"some kinds":                   {query: scope + "&q=hel&kinds=pipeline", want: []string{"pipeline hello"}},
		"a few":                        {query: scope + "&q=hel&limit=1", want: []string{"environment desk", "more"}},
		"an execution":                 {query: scope + "&q=hello%231", want: []string{"execution " + run.ID}},
		"one that isn't":               {query: scope + "&q=hello%232"},
		"the account":                  {query: "?q=hel", want: []string{"environment desk"}},
		"another project's token":      {query: scope + "&q=hel", token: other},
		"and its executions":           {query: scope + "&q=hello%231", token: other},
	} {
		var got searched
		token := s.token
		if tt.token != "" {
			token = tt.token
		}
		s.ask("GET", "/v1/search"+tt.query, "", "Authorization", "Bearer "+token).want(200, &got)
		var found []string
		for _, m := range got.Matches {
			if m.Execution != "" {
				m.ID = m.Execution
			}
			found = append(found, fmt.Sprint(m.Kind, " ", m.ID))
		}
		if !got.Complete {
			found = append(found, "more")
		}
		if diff := cmp.Diff(tt.want, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.ask("GET", "/v1/search"+scope+"&q=x&kinds=robot", "").problem(400)
	s.ask("GET", "/v1/search"+scope, "").problem(400)
}

// Of a long list nothing is missed, and of what is found more than is told is said.
func TestASearchLooksAtAll(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 201 {
		s.save(fmt.Sprintf("environment: {name: Zone %d, identifier: e%03d, type: PreProduction}\n", i, i))
	}
	for q, want := range map[string]struct {
		matches  int
		first    string
		complete bool
	}{"e200": {1, "e200", true}, "200": {1, "e200", true}, "zone": {20, "e000", false}, "e2": {1, "e200", true}, "e201": {0, "", true}} {
		var got searched
		s.ask("GET", "/v1/search"+scope+"&q="+q, "").want(200, &got)
		if len(got.Matches) != want.matches || got.Complete != want.complete || want.matches > 0 && got.Matches[0].ID != want.first {
			t.Errorf("%s: %+v; want %+v", q, got, want)
		}
	}
}

// An execution is found by its number however many came after it, whenever they began.
func TestSearchingAnExecutionAmongMany(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(environment)
	s.save(pipeline)
	web := ref.Scope{Account: "default", Org: "default", Project: "web"}
	const n = 1200
	began := time.Unix(1_800_000_000, 0)
	for i := range n {
		switch {
		case i >= 600 && i < 900: // at once
		case i%7 == 3:
			began = began.Add(-5 * time.Second) // another host's clock
		default:
			began = began.Add(time.Duration(1+i%50) * time.Minute)
		}
		x := store.Execution{ID: fmt.Sprintf("x%04d", i+1), Scope: web, Pipeline: "hello", Name: "hello", PlanHash: "h", Status: plan.Success, StartedAt: began}
		if _, err := s.store.CreateExecution(t.Context(), x, []byte("{}"), audit.Record{Scope: web}); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []int{1, 2, 3, 4, 5, 150, 599, 901, 1000, 1099, 1100, 1101, 1199, n, n + 1} {
		var got searched
		s.ask("GET", fmt.Sprintf("/v1/search%s&q=HELLO%%23%d", scope, number), "").want(200, &got)
		if number > n {
			if len(got.Matches) != 0 {
				t.Errorf("#%d: %+v; want nothing", number, got)
			}
			continue
		}
		if len(got.Matches) != 1 || got.Matches[0].Execution != fmt.Sprintf("x%04d", number) {
			t.Errorf("#%d: %+v", number, got)
		}
	}
}
