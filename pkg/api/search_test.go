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

// Of a long list the first part is looked at, and the answer says so.
func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 201 {
		s.save(fmt.Sprintf("environment: {name: e%03d, identifier: e%03d, type: PreProduction}\n", i, i))
	}
	for q, want := range map[string]int{"e199": 1, "e200": 0} {
		var got searched
		s.ask("GET", "/v1/search"+scope+"&q="+q, "").want(200, &got)
		if len(got.Matches) != want || got.Complete {
			t.Errorf("%s: %d matches, complete %t; want %d of those that were looked at", q, len(got.Matches), got.Complete, want)
		}
	}
}
