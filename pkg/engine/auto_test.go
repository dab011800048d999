package engine

import (
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// An approval that nobody answers approves by itself at its time, and says so
// (semantics/pipeline §7.7); its time-out comes first where it is shorter.
func TestApprovalByItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		timeout string
		ends    string
		took    time.Duration
		outputs string
	}{
		{"at its time", "24h", "p:Success s:Success a:Success", time.Hour,
			`{"output":{"approvalActivities":[` +
				`{"user":{"name":"ada","email":"ada"},"status":"APPROVED","approvedAt":1000000000,"comments":""},` +
				`{"user":{"name":"auto approval","email":"auto approval"},"status":"APPROVED","approvedAt":1003600000,"comments":"nobody said no"}],` +
				`"approverInputs":{"ticket":"OPS-7","why":"x"}}}`},
		{"too late", "30m", "p:Expired s:Expired a:Expired", 30 * time.Minute, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(stage("s", st("a", timeout(tt.timeout)))))
			s.twice = true
			s.script["a"] = []any{asks(plan.Approval{
				Inputs:     []plan.ApprovalInput{{Name: "ticket"}, {Name: "why", Default: "x"}},
				Activities: []plan.ApprovalActivity{{User: "ada", Action: plan.Approve, Inputs: map[string]string{"ticket": "OPS-7"}, At: s.now}},
				Minimum:    2, Auto: &plan.AutoApproval{At: s.now.Add(time.Hour), Comments: "nobody said no"},
			})}
			began := s.now
			s.run(s.plan.Root.ID)
			state := s.states[s.plan.Root.Children[0].Children[0].ID]
			if got := s.ends(); got != tt.ends || s.now.Sub(began) != tt.took || string(state.Outputs) != tt.outputs {
				t.Errorf("%s after %s with %s; want %s after %s with %s", got, s.now.Sub(began), state.Outputs, tt.ends, tt.took, tt.outputs)
			}
		})
	}
}

// Only an approval that was given rejects the older ones; it leaves its list
// however it ends, and a second attempt asks anew.
func TestApprovalsLeaveTheirList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		timeout string
		older   int // how often older ones were rejected
		left    int // how often the list was left
		ends    string
	}{
		{"approved", "24h", 1, 1, "p:Success s:Success a:Success"},
		{"not in time, then not asked", "30m", 0, 1, "p:Success s:Success a:Success"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(stage("s", st("a", timeout(tt.timeout), level(on(retryOnce()))))))
			s.twice = true
			s.script["a"] = []any{asks(plan.Approval{Minimum: 1, RejectsOlder: true, Auto: &plan.AutoApproval{At: s.now.Add(time.Hour)}}), true}
			s.run(s.plan.Root.ID)
			state := s.states[s.plan.Root.Children[0].Children[0].ID]
			if s.ends() != tt.ends || len(s.olders) != tt.older || len(s.left) != tt.left || state.Turn != "" {
				t.Errorf("%s; rejected older ones of %q, left %q, still on %q; want %s, %d, %d", s.ends(), s.olders, s.left, state.Turn, tt.ends, tt.older, tt.left)
			}
			if asked := state.Approval != nil; asked != (state.Attempt == 1) {
				t.Errorf("attempt %d has the approval %v", state.Attempt, state.Approval)
			}
		})
	}
}
