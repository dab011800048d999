package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// enforcing is a step that enforces a policy set.
func enforcing(id string, strategies ...plan.Strategy) *plan.Node {
	n := st(id)
	n.Doc = yamldoc.FromAny(map[string]any{"enforce": map[string]any{"policySets": []any{"house"}}}, 1, 1)
	if len(strategies) > 0 {
		n.Strategies = plan.Levels{strategies}
	}
	return n
}

// TestEnforcedSteps are judged when an attempt has ended well, and each attempt is.
func TestEnforcedSteps(t *testing.T) {
	t.Parallel()
	retry := plan.Strategy{Errors: []fault.FailureType{fault.PolicyEvaluationFailure}, Action: plan.Action{Type: plan.Retry, RetryCount: 2, Then: &plan.Action{Type: plan.MarkAsFailure}}}
	for name, c := range map[string]struct {
		step   *plan.Node
		script []any
		denies int // attempts, from the first on
		want   plan.Status
		asked  int
	}{
		"nothing to say":             {enforcing("a"), []any{took(0)}, 0, plan.Success, 1},
		"a deny fails it":            {enforcing("a"), []any{took(0)}, 9, plan.Failed, 1},
		"a failure isn't asked":      {enforcing("a"), []any{fails{fault.Unknown}}, 9, plan.Failed, 0},
		"a retry is asked again":     {enforcing("a", retry), []any{took(0), took(0)}, 1, plan.Success, 2},
		"retries end":                {enforcing("a", retry), []any{took(0), took(0), took(0)}, 9, plan.Failed, 3},
		"a deny can be ignored":      {enforcing("a", plan.Strategy{Errors: []fault.FailureType{fault.AllErrors}, Action: plan.Action{Type: plan.Ignore}}), []any{took(0)}, 9, plan.IgnoreFailed, 1},
		"who enforces nothing":       {st("a"), []any{took(0)}, 9, plan.Success, 0},
		"an approval is asked about": {enforcing("a"), []any{looks(2)}, 9, plan.Failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(stage("s", c.step)))
			s.script["a"] = c.script
			s.twice = true
			asked := map[int]bool{}
			s.enforced = func(_ *plan.Node, attempt int, o plan.Outcome) plan.Outcome {
				asked[attempt] = true
				if attempt <= c.denies {
					return ruled(o, policy.Judged{Verdict: policy.Verdict{{Name: "house", Policies: []policy.Result{{Name: "p", Severity: policy.Error, Answer: policy.Answer{Deny: []string{"no"}}}}}}})
				}
				return o
			}
			s.run(s.plan.Root.ID)
			if got := s.states[s.plan.Root.Children[0].Children[0].ID]; got.Status != c.want || len(asked) != c.asked {
				t.Errorf("it is %s and was asked about %d times; want %s and %d", got.Status, len(asked), c.want, c.asked)
			}
		})
	}
}

// TestOutcomesAsPoliciesSeeThem: "output" stands first, and no secret is in them.
func TestOutcomesAsPoliciesSeeThem(t *testing.T) {
	t.Parallel()
	n := &plan.Node{ID: "x", Identifier: "a", Name: "A", Type: "ShellScript"}
	own := `{"name":"step","outcome":{"attempt":2,"identifier":"a","metadata":{"type":"custom"},"name":"A","status":"SUCCEEDED","type":"ShellScript"}}`
	for outputs, want := range map[string]string{
		``: `[{"name":"output","outcome":{}},` + own + `]`,
		`{"artifacts":{"tag":"1"},"output":{"outputVariables":{"v":"1","s":{"$secret":"output:acme:canary"}}}}`: `[{"name":"output","outcome":{"outputVariables":{"s":"**************","v":"1"}}},{"name":"artifacts","outcome":{"tag":"1"}},` + own + `]`,
	} {
		got, err := outcomeInput(n, 2, plan.Outcome{Status: plan.Success, Outputs: json.RawMessage(outputs)}, map[string]any{"type": "custom"})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestWhatPoliciesSayIsBounded in a step's log and in its message.
func TestWhatPoliciesSayIsBounded(t *testing.T) {
	t.Parallel()
	var v policy.Judged
	for range 20 {
		many := strings.Split(strings.TrimSpace(strings.Repeat("because ", 10)), " ")
		v.Verdict = append(v.Verdict, policy.SetResult{Name: "s", Policies: []policy.Result{{Name: "p", Severity: policy.Error, Answer: policy.Answer{Deny: many}}}})
	}
	s := &snapshot{r: &Reader{now: time.Now}}
	if err := s.tell(&plan.Node{ID: "x"}, 1, 0, v); err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(s.said[0].Data, []byte("\n")); got != maxSaid {
		t.Errorf("the log has %d lines; want %d", got, maxSaid)
	}
	if got := ruled(plan.Outcome{Status: plan.Success}, v); len(got.Message) != 4000+len("...") || got.Status != plan.Failed {
		t.Errorf("it is %s with a message of %d characters", got.Status, len(got.Message))
	}
}

// TestWhoEndsAWaitLeavesItToTheMachineRun if nobody can be asked now: it may have no
// right to ask, and has others waiting.
func TestWhoEndsAWaitLeavesItToTheMachineRun(t *testing.T) {
	t.Parallel()
	n := enforcing("a")
	p := &plan.Plan{Root: pipeline(stage("s", n))}
	r := &Reader{now: time.Now, store: store.Store{Entities: struct{ store.Entities }{}}}
	for _, ends := range []bool{true, false} {
		s := &snapshot{r: r, ctx: t.Context(), plan: p, ends: ends, nodes: map[plan.NodeID]store.Node{}}
		got := s.enforced(n, 1, plan.Outcome{Status: plan.Success}, s.state) // there is no engine
		if failed := got.Status == plan.Failed; failed == ends || ends != (s.err != nil) {
			t.Errorf("ends: %v: it is %s, with the error %v", ends, got.Status, errors.Unwrap(s.err))
		}
	}
}
