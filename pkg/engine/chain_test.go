package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// runs is an attempt that starts another execution, which ends after a time
// with a status; without one it doesn't end.
type runs struct {
	after time.Duration
	ends  plan.Status
}

// chained is a Pipeline stage.
func chained(id string, edits ...func(*plan.Node)) *plan.Node {
	n := stage(id, st("pipeline", append(edits, timeout("840h"))...))
	n.Type, n.Children[0].Type = plan.TypePipeline, plan.TypePipeline
	return n
}

func TestChainedPipelines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		stage   *plan.Node
		script  []any
		ends    string
		stopped []string // executions that were aborted
		took    time.Duration
	}{
		{
			name: "pipeline §1.7 the stage mirrors the status", stage: chained("c"), script: []any{runs{time.Hour, plan.Success}},
			ends: "p:Success c:Success pipeline:Success after:Success", took: time.Hour,
		},
		{name: "pipeline §8.2 an ignored failure too", stage: chained("c"), script: []any{runs{0, plan.IgnoreFailed}}, ends: "p:IgnoreFailed c:IgnoreFailed pipeline:IgnoreFailed after:Success"},
		{name: "a failure", stage: chained("c"), script: []any{runs{0, plan.Failed}}, ends: "p:Failed c:Failed pipeline:Failed after:Skipped"},
		{name: "a rejection", stage: chained("c"), script: []any{runs{0, plan.ApprovalRejected}}, ends: "p:ApprovalRejected c:ApprovalRejected pipeline:ApprovalRejected after:Skipped"},
		{name: "an abort ends both", stage: chained("c"), script: []any{runs{0, plan.Aborted}}, ends: "p:Aborted c:Aborted pipeline:Aborted"},
		{
			name: "pipeline §5.2 the stage's strategies apply; each attempt is another execution", stage: chained("c", level(on(retryOnce()))),
			script: []any{runs{time.Minute, plan.Failed}, runs{time.Minute, plan.Success}},
			ends:   "p:Success c:Success pipeline:Success after:Success", took: 2 * time.Minute,
		},
		{
			name: "pipeline §5.5 the stage's time bounds it", stage: with(chained("c"), timeout("2h")), script: []any{runs{}},
			ends: "p:Expired c:Expired pipeline:Expired after:Skipped", stopped: []string{"x1"}, took: 2 * time.Hour,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(tt.stage, stage("after")))
			s.script["pipeline"], s.twice = tt.script, true
			begin := s.now
			s.run("p")
			if got := s.ends(); got != tt.ends {
				t.Errorf("ends %s, want %s", got, tt.ends)
			}
			if diff := cmp.Diff(tt.stopped, s.stopped); diff != "" {
				t.Errorf("stopped (-want +got):\n%s", diff)
			}
			if took := s.now.Sub(begin); took != tt.took {
				t.Errorf("it took %s, want %s", took, tt.took)
			}
		})
	}
}

// An abort that meets a step whose child runs stops the child.
func TestAnAbortStopsTheChild(t *testing.T) {
	t.Parallel()
	s := newSim(t, pipeline(chained("c")))
	s.states["p"] = plan.State{Status: plan.Running}
	s.states["p.c"] = plan.State{Status: plan.Running}
	s.states["p.c.pipeline"] = plan.State{Status: plan.Running, Wait: plan.WaitChild, Child: "x1", Attempt: 1, Deadline: s.now.Add(time.Hour)}
	s.aborted = true
	if d := s.advance("p.c", 0, At{}); !cmp.Equal(d.Stop, []string{"x1"}) || s.states["p.c"].Status != plan.Aborted {
		t.Errorf("it stopped %v and the stage is %s; want x1 and Aborted", d.Stop, s.states["p.c"].Status)
	}
}

// What people wrote wrong isn't tried again; what a machine broke is.
func TestWhatFailsAChainedStage(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]bool{fault.NotFound: true, fault.Invalid: true, fault.PolicyDenied: true, fault.Frozen: true, fault.Internal: false, fault.StaleVersion: false, fault.Unavailable: false} {
		if got := final(fault.New(code, "it")); got != want {
			t.Errorf("%s: final is %t, want %t", code, got, want)
		}
	}
}

// What an event or an output had in it isn't evaluated by the other pipeline.
func TestInputsThatLookLikeExpressions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		inputs any
		at     string // which is refused
	}{
		{"none", nil, ""},
		{"texts", map[string]any{"variables": []any{map[string]any{"value": "a < b"}, map[string]any{"value": 1}}}, ""},
		{"a value", map[string]any{"variables": []any{map[string]any{"value": "fine"}, map[string]any{"value": `x <+secrets.getValue("a")>`}}}, "inputs.variables[1].value"},
		{"half of one", map[string]any{"value": "<+"}, "inputs.value"},
		{"what only a delegate knows", map[string]any{"value": "v<+kubernetes.release.revision>"}, ""},
		{"and more", map[string]any{"value": `<+kubernetes.release.revision> <+kubernetes.<+secrets.getValue("a")>>`}, "inputs.value"},
		{"put together of what is taken out", map[string]any{"value": `<<+kubernetes.x>+secrets.getValue("a")>`}, "inputs.value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := unread(yamldoc.FromAny(tt.inputs, 3, 1), "inputs")
			if tt.at == "" && err != nil || tt.at != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.at+" (line 3): ")) {
				t.Errorf("the error is %v, want one for %q", err, tt.at)
			}
		})
	}
}
