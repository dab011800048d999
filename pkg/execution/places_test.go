package execution

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// semantics/pipeline §5.4: a place is rolled back by rolling back the one execution
// that has put there what runs.
func TestAPlaceIsRolledBackByItsExecution(t *testing.T) {
	t.Parallel()
	now := time.Now()
	type put struct {
		service, environment, infrastructure, by string
		gone                                     bool
	}
	tests := []struct {
		name string
		puts []put
		at   Place
		want string // the execution that is rolled back, or the error
	}{
		{"the one that deployed", []put{{"web", "prod", "east", "x1", false}}, Place{"web", "prod", "east"}, "x1"},
		{"the only infrastructure", []put{{"web", "prod", "east", "x1", false}}, Place{"web", "prod", ""}, "x1"},
		{"two infrastructures of one execution", []put{{"web", "prod", "east", "x1", false}, {"web", "prod", "west", "x1", false}}, Place{"web", "prod", ""}, "x1"},
		{"two of two", []put{{"web", "prod", "east", "x1", false}, {"web", "prod", "west", "x2", false}}, Place{"web", "prod", ""}, "error: CONFLICT: several executions, among them x1 and x2; name the infrastructure"},
		{"one of two by its name", []put{{"web", "prod", "east", "x1", false}, {"web", "prod", "west", "x2", false}}, Place{"web", "prod", "west"}, "x2"},
		{"another service", []put{{"api", "prod", "east", "x1", false}}, Place{"web", "prod", ""}, "error: NOT_FOUND: no deployment of service web to environment prod is known"},
		{"another environment", []put{{"web", "dev", "east", "x1", false}}, Place{"web", "prod", "east"}, "error: NOT_FOUND: no deployment of service web to infrastructure east of environment prod is known"},
		{"what was removed long ago", []put{{"web", "prod", "east", "x1", true}}, Place{"web", "prod", ""}, "error: NOT_FOUND: no deployment"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := service(setup(t), func() time.Time { return now })
			for _, id := range []string{"x1", "x2"} {
				deployed(t, s, id, now.Add(-time.Hour))
			}
			for _, p := range tt.puts {
				at := store.Placement{
					Key:      store.PlacementKey{Scope: webScope(), Service: p.service, Environment: p.environment, Infrastructure: p.infrastructure, Target: "t"},
					Deployed: store.Deployed{Execution: p.by, Pipeline: "p", Action: "deploy", At: now.Add(-time.Hour)},
				}
				if p.gone {
					at.Seen.EmptySince = now.Add(-store.PlacementsKept)
				}
				_, err := s.Store.SavePlacement(t.Context(), at, nil)
				must(t, err)
			}
			got, err := s.RollbackPlace(t.Context(), webScope(), tt.at, RollbackRequest{By: audit.Author{Actor: "ann"}})
			if want, fails := strings.CutPrefix(tt.want, "error: "); fails {
				code, says, _ := strings.Cut(want, ": ")
				if string(fault.CodeOf(err)) != code || !strings.Contains(err.Error(), says) {
					t.Errorf("%s: %v; want %s", fault.CodeOf(err), err, want)
				}
				return
			}
			must(t, err)
			if got.RollbackOf != tt.want || got.Actor != "ann" {
				t.Errorf("execution %s of %s rolls %q back; want one of ann's that rolls %s back", got.ID, got.Actor, got.RollbackOf, tt.want)
			}
		})
	}
}

// deployed is an execution of a pipeline of its own that has ended well and can be
// rolled back.
func deployed(t *testing.T, s *Service, id string, at time.Time) {
	t.Helper()
	root := &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "p", Children: []*plan.Node{{
		ID: "s", Kind: plan.KindStage, Identifier: "s", Rollback: []*plan.Node{{ID: "s.back", Kind: plan.KindStep, Identifier: "back"}},
	}}}
	begun(t, s, store.Execution{ID: id, Pipeline: "p-" + id, Status: plan.Success, StartedAt: at}, root)
}

// begun keeps an execution of a plan in the project web.
func begun(t *testing.T, s *Service, e store.Execution, root *plan.Node, nodes ...store.Node) {
	t.Helper()
	doc, err := (&plan.Plan{Root: root}).Encode()
	must(t, err)
	e.Scope, e.Actor, e.PlanHash = webScope(), "bo", plan.Hash(doc)
	e.Pipeline = cmp.Or(e.Pipeline, "p")
	_, err = s.Store.CreateExecution(t.Context(), e, doc, audit.Record{Scope: e.Scope})
	must(t, err)
	for i := range nodes {
		nodes[i].Execution = e.ID
	}
	if len(nodes) > 0 {
		must(t, s.Store.CommitExecution(t.Context(), e.ID, store.Commit{Nodes: nodes}))
	}
}

// semantics/containers: a machine closes the sessions of what has ended, and keeps
// those of which nothing is known here.
func TestSessionsOfWhatHasEndedAreOver(t *testing.T) {
	t.Parallel()
	s := service(setup(t), time.Now)
	root := func() *plan.Node {
		return &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "p", Children: []*plan.Node{{ID: "g", Kind: plan.KindGroup}, {ID: "h", Kind: plan.KindGroup}}}
	}
	ended, runs := plan.State{Status: plan.Failed}, plan.State{Status: plan.Running}
	begun(t, s, store.Execution{ID: "x1", Status: plan.Running, StartedAt: time.Now()}, root(), store.Node{ID: "g", State: ended}, store.Node{ID: "h", State: runs})
	begun(t, s, store.Execution{ID: "x2", Status: plan.Aborted, StartedAt: time.Now()}, root(), store.Node{ID: "h", State: runs})
	open := []task.Session{
		{ID: "its group has ended", Execution: "x1", Node: "g"},
		{ID: "its group runs", Execution: "x1", Node: "h"},
		{ID: "its group hasn't begun", Execution: "x1", Node: "later"},
		{ID: "its execution has ended", Execution: "x2", Node: "h"},
		{ID: "its execution is another server's", Execution: "x9", Node: "h"},
	}
	for _, tt := range []struct {
		name     string
		delegate store.Delegate
		want     string
	}{
		{"of the project", store.Delegate{Scope: webScope()}, "its group has ended, its execution has ended"},
		{"of another project", func() store.Delegate { d := store.Delegate{Scope: webScope()}; d.Scope.Project = "other"; return d }(), ""},
	} {
		over, err := SessionsOver(t.Context(), s.Store, tt.delegate, open)
		must(t, err)
		if got := strings.Join(over.Over, ", "); got != tt.want {
			t.Errorf("a delegate %s closes %q, want %q", tt.name, got, tt.want)
		}
	}
}
