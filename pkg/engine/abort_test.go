package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// An abort cancels the tasks that are under way. One that has ended by itself
// can't be cancelled any more: asking for it again and again would never end.
func TestAnAbortCancelsOnlyWhatRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		outcome *plan.Outcome
		want    plan.Status
		cancels int
	}{
		{"a running task", nil, plan.Aborted, 1},
		{"a task that succeeded before", &plan.Outcome{Status: plan.Success}, plan.Success, 0},
		{"a task that failed before", &plan.Outcome{Status: plan.Failed}, plan.Aborted, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(stage("s", st("a"), st("b"))))
			stageID := s.plan.Root.Children[0].ID
			a := s.plan.Root.Children[0].Children[0].ID
			states := map[plan.NodeID]plan.State{
				s.plan.Root.ID: {Status: plan.Running}, stageID: {Status: plan.Running},
				a: {Status: plan.Running, Attempt: 1, Wait: plan.WaitWork},
			}
			d := Next(Input{
				Plan: s.plan, Node: stageID, Now: s.now, Aborted: true,
				State: func(id plan.NodeID) plan.State { return states[id] },
				Task: func(*plan.Node, int, int) TaskFacts {
					return TaskFacts{Exists: true, Claimed: true, Outcome: tt.outcome}
				},
			})
			for _, w := range d.Writes {
				states[w.Node] = w.State
			}
			got := []plan.Status{states[a].Status, states[stageID].Status}
			if diff := cmp.Diff([]plan.Status{tt.want, plan.Aborted}, got); diff != "" || len(d.Cancel) != tt.cancels || d.Do != DoDone {
				t.Errorf("%s, %d cancelled, step and stage (-want +got):\n%s", d.Do, len(d.Cancel), diff)
			}
		})
	}
}
