package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
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
				State:   func(id plan.NodeID) plan.State { return states[id] },
				Deploys: func(*plan.Node) bool { return false },
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

// A step that failed, and whose strategy aborts, says why it failed.
func TestAnAbortTellsWhatFailed(t *testing.T) {
	t.Parallel()
	aborts, fallback := level(on(act(plan.Abort))), act(plan.MarkAsFailure)
	intervene := level(on(plan.Action{Type: plan.ManualIntervention, Timeout: time.Minute, Then: &fallback}))
	for _, tt := range []struct {
		name     string
		step     *plan.Node
		script   any
		decide   plan.ActionType
		want     string
		failures []fault.FailureType
	}{
		{name: "its work failed", step: st("a", aborts), script: fails{fault.Verification}, want: "a broke", failures: []fault.FailureType{fault.Verification}},
		{name: "its time was up", step: st("a", timeout("1m"), aborts), script: hang{}, want: "timed out after 1m0s", failures: []fault.FailureType{fault.Timeout}},
		{
			name: "a person said so", step: st("a", intervene), script: fails{fault.Verification}, decide: plan.Abort,
			want: "a broke", failures: []fault.FailureType{fault.Verification},
		},
		{
			name: "its condition can't be evaluated", step: st("a", when("All", "<+no.such>"), aborts), script: true,
			want: `condition "<+no.such>"`, failures: []fault.FailureType{fault.ConfigurationFailure, fault.Unknown},
		},
		{name: "it broke at nothing", step: st("a", aborts), script: "abort", want: "aborted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(stage("s", tt.step, st("b"))))
			s.twice, s.anew, s.script["a"] = true, true, []any{tt.script}
			if tt.decide != "" {
				s.decide["a"] = tt.decide
			}
			s.run(s.plan.Root.ID)
			a, root := s.states["p.s.a"], s.states["p"]
			if diff := cmp.Diff(tt.failures, a.Failures); diff != "" || a.Status != plan.Aborted || a.Message != tt.want {
				t.Errorf("the step is %s with %q, want Aborted with %q; failures (-want +got):\n%s", a.Status, a.Message, tt.want, diff)
			}
			if want := "stage s: step a: " + tt.want; root.Message != want {
				t.Errorf("the pipeline says %q, want %q", root.Message, want)
			}
		})
	}
}

// What hasn't begun when a loop is aborted gets no machine run.
func TestAnAbortDoesNotExpandALoop(t *testing.T) {
	t.Parallel()
	s := newSim(t, pipeline(loop(stage("s", st("a")))))
	id := s.plan.Root.Children[0].ID
	var its plan.Iterations
	for i := range 3 {
		its.List = append(its.List, plan.Iteration{Postfix: fmt.Sprint("_", i)})
	}
	s.states[s.plan.Root.ID] = plan.State{Status: plan.Running}
	s.states[id] = plan.State{Status: plan.Running, Iterations: &its}
	s.states[id+"_1"] = plan.State{Status: plan.Running}
	s.aborted = true
	d := s.advance(id, 0, At{})
	if diff := cmp.Diff([]Run{{Node: id + "_1"}}, d.Children); diff != "" {
		t.Errorf("machine runs (-want +got):\n%s", diff)
	}
	if got := []plan.Status{s.states[id+"_0"].Status, s.states[id+"_2"].Status}; got[0] != plan.Aborted || got[1] != plan.Aborted {
		t.Errorf("those that hadn't begun are %v; want them aborted", got)
	}
}
