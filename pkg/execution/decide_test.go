package execution

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// semantics/pipeline §7.7: what approvers enter is checked as the step asks for
// it; a rejection says no to all of it.
func TestWhatApproversEnterIsChecked(t *testing.T) {
	t.Parallel()
	asked := plan.Approval{Inputs: []plan.ApprovalInput{
		{Name: "ticket", Required: true, Regex: "[A-Z]+-[0-9]+"},
		{Name: "zone", Default: "eu", Allowed: []string{"eu", "us"}},
		{Name: "hosts", Allowed: []string{"a", "b"}, Multiple: true},
		{Name: "odd", Regex: "("},
	}}
	tests := []struct {
		name   string
		action string
		inputs map[string]string
		want   string // ticket, zone and hosts, or what is wrong
	}{
		{"what is needed", plan.Approve, map[string]string{"ticket": "OPS-1"}, "OPS-1 eu "},
		{"all of it", plan.Approve, map[string]string{"ticket": "OPS-1", "zone": "us", "hosts": "a,b"}, "OPS-1 us a,b"},
		{"nothing", plan.Approve, nil, `error: input "ticket" is required`},
		{"a match with more before it", plan.Approve, map[string]string{"ticket": "x OPS-1"}, `error: input "ticket" is "x OPS-1"; want a match of [A-Z]+-[0-9]+`},
		{"a match with a line after it", plan.Approve, map[string]string{"ticket": "OPS-1\nrm"}, `error: input "ticket" is "OPS-1\nrm"; want a match`},
		{"a word that isn't allowed", plan.Approve, map[string]string{"ticket": "OPS-1", "zone": "mars"}, `error: input "zone" is "mars"; want one of eu, us`},
		{"several where one is wanted", plan.Approve, map[string]string{"ticket": "OPS-1", "zone": "eu,us"}, `error: input "zone" is "eu,us"; want one of eu, us`},
		{"several, of which one isn't allowed", plan.Approve, map[string]string{"ticket": "OPS-1", "hosts": "a,c"}, `error: input "hosts" is "c"; want one of a, b`},
		{"an input that nobody asks for", plan.Approve, map[string]string{"ticket": "OPS-1", "more": "x"}, `error: the approval has no input "more"`},
		{"one whose pattern is none", plan.Approve, map[string]string{"ticket": "OPS-1", "odd": "x"}, `error: the pattern of input "odd"`},
		{"a rejection with anything", plan.Reject, map[string]string{"zone": "mars"}, " mars "},
		{"a rejection with an input that nobody asks for", plan.Reject, map[string]string{"more": "x"}, `error: the approval has no input "more"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := approverInputs(asked, ApprovalAnswer{Action: tt.action, Inputs: tt.inputs})
			if words, fails := strings.CutPrefix(tt.want, "error: "); fails {
				if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), words) {
					t.Errorf("%v; want %s", err, words)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got["ticket"]+" "+got["zone"]+" "+got["hosts"]); diff != "" {
				t.Errorf("what was entered (-want +got):\n%s", diff)
			}
		})
	}
}

// An answer counts once for each person, and only for what that person was shown.
func TestAnswersAreCountedByPerson(t *testing.T) {
	t.Parallel()
	s := &Service{Config: Config{Now: func() time.Time { return time.Unix(100, 0) }}}
	st := &plan.State{Status: plan.ApprovalWaiting, Approval: &plan.Approval{Minimum: 2, Digest: "now"}}
	answer := func(user, digest string) (bool, error) {
		return s.count("n", st, ApprovalAnswer{Action: plan.Approve, Digest: digest, By: audit.Author{Actor: user}})
	}
	if _, err := answer("ann", "before"); !fault.Is(err, fault.Conflict) || len(st.Approval.Activities) > 0 {
		t.Errorf("of something else: %v, %d answers; want a conflict and none", err, len(st.Approval.Activities))
	}
	for _, digest := range []string{"now", ""} {
		if ended, err := answer("ann", digest); err != nil || ended || len(st.Approval.Activities) != 1 {
			t.Errorf("ann, again: ended %v (%v), %d answers; want one", ended, err, len(st.Approval.Activities))
		}
	}
	if ended, err := answer("bo", "now"); err != nil || !ended || st.Outcome == nil || st.Outcome.Status != plan.Success {
		t.Errorf("bo: ended %v (%v) with %+v; want a success", ended, err, st.Outcome)
	}
	if err := asks("n", st); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "bo has decided APPROVE at 1970-01-01T00:01:40Z") {
		t.Errorf("an answer after that: %v; want a conflict that says who has decided", err)
	}
}
