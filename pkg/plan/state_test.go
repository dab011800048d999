package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// semantics/pipeline §5.2: of what siblings ask for, what reaches further up wins,
// and of one group its rollback wins over trying it again.
func TestWhatReachesFurtherIsStronger(t *testing.T) {
	t.Parallel()
	weakestFirst := []plan.Unwind{
		{},
		{Action: plan.RetryStepGroup, Depth: 2}, {Action: plan.StepGroupRollback, Depth: 2},
		{Action: plan.RetryStepGroup, Depth: 1}, {Action: plan.StepGroupRollback, Depth: 1},
		{Action: plan.StageRollback}, {Action: plan.PipelineRollback},
	}
	for i, u := range weakestFirst {
		for j, v := range weakestFirst {
			if got := u.Stronger(v); got != (i > j) {
				t.Errorf("%s of depth %d is stronger than %s of depth %d: %v", u.Action, u.Depth, v.Action, v.Depth, got)
			}
		}
	}
}

// semantics/pipeline §8.2: how a container ends, of how its children have.
func TestTheWorstEndIsTheContainers(t *testing.T) {
	t.Parallel()
	bestFirst := []plan.Status{
		plan.Success, plan.IgnoreFailed, plan.Expired, plan.ApprovalRejected, plan.Failed, plan.Errored, plan.AbortedByFreeze, plan.Aborted,
	}
	for i, s := range bestFirst {
		for j, o := range bestFirst {
			if got := s.Worse(o); got != (i > j) {
				t.Errorf("%s is worse than %s: %v", s, o, got)
			}
		}
		if s.Bad() != (i > 1) || s.Good() == s.Bad() || !s.Terminal() {
			t.Errorf("%s is good %v, bad %v, terminal %v", s, s.Good(), s.Bad(), s.Terminal())
		}
	}
	for _, s := range plan.Statuses() {
		if ended := slices.Contains(bestFirst, s) || s == plan.Skipped; s.Terminal() != ended {
			t.Errorf("%s is terminal: %v", s, s.Terminal())
		}
		if !slices.Contains(bestFirst, s) && s.Worse(plan.Success) {
			t.Errorf("%s is worse than a success", s)
		}
	}
}

// semantics/pipeline §3.7: expressions spell each status in capitals, none like
// another.
func TestStatusesOfExpressions(t *testing.T) {
	t.Parallel()
	own := map[plan.Status]string{plan.Success: "SUCCEEDED"}
	seen := map[string]plan.Status{}
	for _, s := range plan.Statuses() {
		want := own[s]
		if want == "" {
			for i, r := range string(s) {
				if i > 0 && r >= 'A' && r <= 'Z' {
					want += "_"
				}
				want += strings.ToUpper(string(r))
			}
		}
		got := s.Expression()
		if got != want {
			t.Errorf("%s is %s in expressions; want %s", s, got, want)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s are both %s", s, other, got)
		}
		seen[got] = s
	}
}

// semantics/pipeline §7.7: the first rejection ends an approval, and so do as many
// approvals as are wanted.
func TestApprovalsEnd(t *testing.T) {
	t.Parallel()
	yes := func(user string) plan.ApprovalActivity {
		return plan.ApprovalActivity{User: user, Action: plan.Approve}
	}
	no := plan.ApprovalActivity{User: "eve", Action: plan.Reject, Comments: "not on a Friday"}
	tests := []struct {
		name     string
		approval plan.Approval
		want     string // status and message; empty: it goes on
	}{
		{"nobody has answered", plan.Approval{}, ""},
		{"one is enough where nobody says how many", plan.Approval{Activities: []plan.ApprovalActivity{yes("ann")}}, "Success "},
		{"one of two", plan.Approval{Minimum: 2, Activities: []plan.ApprovalActivity{yes("ann")}}, ""},
		{"two of two", plan.Approval{Minimum: 2, Activities: []plan.ApprovalActivity{yes("ann"), yes("bob")}}, "Success "},
		{"a rejection before the second", plan.Approval{Minimum: 2, Activities: []plan.ApprovalActivity{yes("ann"), no}}, "ApprovalRejected rejected by eve: not on a Friday"},
		{"a rejection without a word", plan.Approval{Activities: []plan.ApprovalActivity{{User: "eve", Action: plan.Reject}}}, "ApprovalRejected rejected by eve"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := tt.approval.Outcome()
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if o != nil {
				got = string(o.Status) + " " + o.Message
			}
			if got != tt.want {
				t.Errorf("it ends with %q; want %q", got, tt.want)
			}
		})
	}
}

// What the last one has entered is what the next one finds; before that, the
// defaults.
func TestInputsOfAnApprovalAreKept(t *testing.T) {
	t.Parallel()
	a := plan.Approval{Inputs: []plan.ApprovalInput{{Name: "size", Default: "small"}, {Name: "note"}}}
	if diff := cmp.Diff(map[string]string{"size": "small", "note": ""}, a.Values()); diff != "" {
		t.Errorf("before any answer (-want +got):\n%s", diff)
	}
	a.Activities = []plan.ApprovalActivity{
		{User: "ann", Action: plan.Approve, Inputs: map[string]string{"size": "large", "note": "mine"}},
		{User: "bob", Action: plan.Approve, Inputs: map[string]string{"note": "his"}},
	}
	if diff := cmp.Diff(map[string]string{"size": "small", "note": "his"}, a.Values()); diff != "" {
		t.Errorf("after two answers (-want +got):\n%s", diff)
	}
}

// semantics/pipeline §7.2: a definition that allows it, wherever it says so, takes
// several stages at a time.
func TestExclusiveDeployments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"{}":                                           true,
		"{allowSimultaneousDeployments: false}":        true,
		"{allowSimultaneousDeployments: true}":         false,
		`{allowSimultaneousDeployments: "True"}`:       false,
		"{spec: {allowSimultaneousDeployments: true}}": false,
		"{allowSimultaneousDeployments: false, spec: {allowSimultaneousDeployments: true}}": false,
	} {
		docs, report := yamldoc.Parse("", []byte(text))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		if d := (&plan.Deployment{Infrastructure: docs[0]}); d.Exclusive() != want {
			t.Errorf("%s is exclusive: %v", text, !want)
		}
	}
	if (*plan.Deployment)(nil).Exclusive() {
		t.Error("a stage that deploys nothing waits for others")
	}
}

// A reference to a secret is found at any depth, and however its key is escaped.
func TestReferencesToSecretsAreFound(t *testing.T) {
	t.Parallel()
	for outputs, want := range map[string]bool{
		``:                                    false,
		`{"a":{"b":["c",1,null]}}`:            false,
		`{"a":"$secret"}`:                     false,
		`{"$secret":"x"}`:                     true,
		`{"a":[{"b":{"$secret":"x"}}]}`:       true,
		`{"a":[{"b":{"\u0024secret":"x"}}]}`:  true,
		`[[{"\u0024s\u0065cret":{"any":1}}]]`: true,
	} {
		got, err := plan.NamesSecret(json.RawMessage(outputs))
		if err != nil || got != want {
			t.Errorf("%s names a secret: %v (%v); want %v", outputs, got, err, want)
		}
	}
	if _, err := plan.NamesSecret(json.RawMessage(`{"$secret`)); err == nil {
		t.Error("outputs that are cut off pass")
	}
}
