package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// A sequence goes on in another machine run after so many children, so that
// no run's history gets too long; forward and in its rollbackSteps.
func TestLongSequencesGoOnInParts(t *testing.T) {
	t.Parallel()
	many := func(prefix string, n int) []*plan.Node {
		var out []*plan.Node
		for i := range n {
			out = append(out, st(fmt.Sprintf("%s%d", prefix, i)))
		}
		return out
	}
	tests := []struct {
		name            string
		steps, rollback int
		fails           string
		begun, parts    int
	}{
		{"one that fits", partSize, 0, "", partSize, 1},
		{"one more", partSize + 1, 0, "", partSize + 1, 2},
		{"a thousand", 1000, 0, "", 1000, 5},
		{"a rollback behind a long stage", partSize + 10, partSize, fmt.Sprint("s", partSize+9), 2*partSize + 10, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			steps := many("s", tt.steps)
			if tt.fails != "" {
				steps[len(steps)-1] = st(tt.fails, level(on(act(plan.StageRollback))))
			}
			s := newSim(t, pipeline(rolling(stage("a", steps...), many("r", tt.rollback)...)))
			s.twice = true
			s.script[tt.fails] = []any{fails{fault.Unknown}}
			s.run(s.plan.Root.ID)
			if len(s.begun) != tt.begun || s.parts != tt.parts {
				t.Errorf("%d steps began in %d parts; want %d in %d", len(s.begun), s.parts, tt.begun, tt.parts)
			}
			if want := map[bool]plan.Status{true: plan.Failed, false: plan.Success}[tt.fails != ""]; s.states[s.plan.Root.ID].Status != want {
				t.Errorf("the pipeline is %s, want %s", s.states[s.plan.Root.ID].Status, want)
			}
		})
	}
}

// The run in which a sequence went on may die: the sequence says so.
func TestALostPartEndsItsSequence(t *testing.T) {
	t.Parallel()
	var steps []*plan.Node
	for i := range partSize + 1 {
		steps = append(steps, st(fmt.Sprint("s", i)))
	}
	s := newSim(t, pipeline(stage("a", steps...)))
	id := s.plan.Root.Children[0].ID
	s.states[s.plan.Root.ID] = plan.State{Status: plan.Running}
	s.states[id] = plan.State{Status: plan.Running, Cursor: partSize}
	first := s.advance(id, 0, At{})
	if diff := cmp.Diff(Decision{Do: DoChildren, At: At{Node: id, Wait: waitChildren}, Children: []Run{{Node: id, Part: 1}}}, first); diff != "" {
		t.Fatalf("decision (-want +got):\n%s", diff)
	}
	if d := s.advance(id, 0, first.At); d.Do != DoDone || s.states[id].Status != plan.Errored {
		t.Errorf("after its part died: %s, the stage is %s; want it done and Errored", d.Do, s.states[id].Status)
	}
}
