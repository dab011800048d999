package execution

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// semantics/pipeline §8.4: what has run can be run again, from a stage on only if
// it failed not long ago.
func TestWhatCantBeRepeated(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tests := []struct {
		name string
		e    store.Execution
		r    RetryRequest
		says string
	}{
		{"what runs", store.Execution{Status: plan.Running, StartedAt: now}, RetryRequest{}, "execution x1 is Running; only one that has ended can be repeated"},
		{"a preview", store.Execution{Status: plan.Success, Preview: true, StartedAt: now}, RetryRequest{}, "execution x1 is a preview of pipeline p; start another"},
		{"a rollback", store.Execution{Status: plan.Success, RollbackOf: "x0", StartedAt: now}, RetryRequest{}, "execution x1 has rolled x0 back"},
		{"from a stage, though nothing failed", store.Execution{Status: plan.Success, StartedAt: now}, RetryRequest{From: "s"}, "execution x1 is Success; only one that failed can go on from a stage"},
		{"from the failed stage, though nothing failed", store.Execution{Status: plan.Success, StartedAt: now}, RetryRequest{FromFailed: true}, "only one that failed"},
		{"from a stage, after a month", store.Execution{Status: plan.Failed, StartedAt: now.Add(-maxAge - time.Second)}, RetryRequest{From: "s"}, "execution x1 is older than 30 days"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := service(setup(t), func() time.Time { return now })
			tt.e.ID = "x1"
			begun(t, s, tt.e, &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "p"})
			_, err := s.Retry(t.Context(), "x1", tt.r)
			if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v; want %q", err, tt.says)
			}
		})
	}
	if _, err := service(setup(t), time.Now).Retry(t.Context(), "x9", RetryRequest{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an execution that isn't there: %v", err)
	}
}

// The stage from which a failed execution goes on is the first in the pipeline's
// order that ended badly, also in a parallel block.
func TestTheFirstFailedStage(t *testing.T) {
	t.Parallel()
	stage := func(id string) *plan.Node {
		return &plan.Node{ID: plan.NodeID("pipeline." + id), Kind: plan.KindStage, Identifier: id}
	}
	for want, states := range map[string]map[string]plan.Status{
		"b":    {"a": plan.Success, "b": plan.Failed, "d": plan.Skipped},
		"c":    {"a": plan.Success, "b": plan.Success, "c": plan.Expired},
		"d":    {"a": plan.Success, "b": plan.Success, "c": plan.Skipped, "d": plan.Aborted},
		"a":    {"a": plan.Failed, "d": plan.Failed},
		"none": {"a": plan.Success},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := service(setup(t), time.Now)
			root := &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "p", Children: []*plan.Node{
				stage("a"), {ID: "pipeline.both", Kind: plan.KindParallel, Children: []*plan.Node{stage("b"), stage("c")}}, stage("d"),
			}}
			var nodes []store.Node
			for id, status := range states {
				nodes = append(nodes, store.Node{ID: plan.NodeID("pipeline." + id), State: plan.State{Status: status}})
			}
			e := store.Execution{ID: "x1", Status: plan.Failed, StartedAt: time.Now()}
			begun(t, s, e, root, nodes...)
			got, err := s.failedStage(t.Context(), e, &plan.Plan{Root: root})
			if want == "none" {
				if !fault.Is(err, fault.Conflict) {
					t.Errorf("%q, %v; want a conflict", got, err)
				}
				return
			}
			if err != nil || got != want {
				t.Errorf("%q, %v; want %s", got, err, want)
			}
		})
	}
}

// What people tell a running execution is recorded with who told it; what has ended
// takes nothing any more.
func TestWhatPeopleTellAnExecutionIsRecorded(t *testing.T) {
	t.Parallel()
	s, runner := waiting(t, plan.State{Status: plan.Running})
	runner.refusals = 0
	by := audit.Author{Actor: "ann"}
	if _, err := s.Pause(t.Context(), "x1", by); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resume(t.Context(), "x1", by); err != nil {
		t.Fatal(err)
	}
	if err := s.Mark(t.Context(), "x1", "s.a", plan.Skipped, by); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `not as "Skipped"`) {
		t.Errorf("marked as skipped: %v", err)
	}
	e, err := s.Abort(t.Context(), "x1", by)
	must(t, err)
	list, err := s.Store.ListAudit(t.Context(), e.Scope.Account, 0, 100)
	must(t, err)
	var got []string
	for _, r := range list {
		if r.Actor == "ann" {
			got = append(got, string(r.Action)+" "+r.Kind+" "+r.ID)
		}
	}
	if want := "PAUSE execution x1, RESUME execution x1, ABORT execution x1"; strings.Join(got, ", ") != want {
		t.Errorf("the trail has %q, want %q", got, want)
	}
	for name, tell := range map[string]func(id string) error{
		"pause":  func(id string) error { _, err := s.Pause(t.Context(), id, by); return err },
		"resume": func(id string) error { _, err := s.Resume(t.Context(), id, by); return err },
		"abort":  func(id string) error { _, err := s.Abort(t.Context(), id, by); return err },
		"mark":   func(id string) error { return s.Mark(t.Context(), id, "s.a", plan.Failed, by) },
	} {
		if err := tell("x9"); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of an execution that isn't there: %v", name, err)
		}
	}
}
