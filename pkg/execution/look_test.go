package execution

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Whoever looks again sees what whoever looks for the first time does, also when
// there is no room for what he has seen.
func TestAWatcherSeesWhatHasChanged(t *testing.T) {
	t.Parallel()
	s, w := wide(t, 2, 3, plan.State{Status: plan.Running, StartedAt: time.Unix(1, 0), Attempt: 1, Outputs: []byte(`{"output":{}}`)})
	roomy, crowded := s.Watch("x1"), service(s.Store, time.Now)
	crowded.watched.Add(maxWatched)
	cramped := crowded.Watch("x1")
	step := plan.NodeID("pipeline.stages.s1.spec.execution.steps.a2")
	at := time.Unix(9, 0).UTC()
	for i, state := range []plan.State{
		{Status: plan.Running, Attempt: 1},
		{Status: plan.ApprovalWaiting, Attempt: 2, Approval: &plan.Approval{Message: "go?"}, StartedAt: at},
		{Status: plan.InterventionWaiting, Message: "no", Decided: &plan.Decided{By: "ann"}, History: []plan.Attempt{{Number: 1}}},
		{Status: plan.Success, EndedAt: at, Child: "x2", Answered: true},
	} {
		must(t, w.CommitExecution(t.Context(), "x1", store.Commit{Nodes: []store.Node{{Execution: "x1", ID: step, Version: int64(i + 1), State: state}}}))
		want, err := s.Describe(t.Context(), "x1", Part{})
		must(t, err)
		for name, watcher := range map[string]*Watcher{"with room": roomy, "without room": cramped} {
			got, err := watcher.Describe(t.Context(), Part{})
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("look %d, %s (-anew +again):\n%s", i+1, name, diff)
			}
		}
	}
	if kept := s.watched.Load(); kept != 9 {
		t.Errorf("the states of %d nodes are kept; want 9", kept)
	}
	roomy.Close()
	cramped.Close()
	if kept, other := s.watched.Load(), crowded.watched.Load()-maxWatched; kept != 0 || other != 0 {
		t.Errorf("the states of %d and %d nodes are kept at the end; want none", kept, other)
	}
}

// BenchmarkDescribe is what it takes to see that one of 10,000 nodes has changed.
func BenchmarkDescribe(b *testing.B) {
	b.Run("anew", func(b *testing.B) { look(b, func(s *Service) describer { return s.Describe }) })
	b.Run("again", func(b *testing.B) {
		look(b, func(s *Service) describer {
			w := s.Watch("x1")
			return func(ctx context.Context, _ string, part Part) (Tree, error) { return w.Describe(ctx, part) }
		})
	})
}

type describer func(ctx context.Context, id string, part Part) (Tree, error)

func look(b *testing.B, by func(*Service) describer) {
	b.Helper()
	s, w := wide(b, 100, 99, plan.State{Status: plan.Success, StartedAt: time.Unix(1, 0), EndedAt: time.Unix(2, 0), Attempt: 1, Outputs: []byte(`{"output":{"x":"1"}}`)})
	n := store.Node{Execution: "x1", ID: "pipeline.stages.s7", Version: 1, State: plan.State{Status: plan.Running}}
	describe := by(s)
	if _, err := describe(b.Context(), "x1", Part{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := w.CommitExecution(b.Context(), "x1", store.Commit{Nodes: []store.Node{n}}); err != nil {
			b.Fatal(err)
		}
		n.Version++
		if _, err := describe(b.Context(), "x1", Part{}); err != nil {
			b.Fatal(err)
		}
	}
}
