package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func asking(a plan.Asks) func(*plan.Node) { return func(n *plan.Node) { n.Asks = a } }

// TestInputsThatAreAskedForLate holds the rules of semantics/pipeline §2.2.
func TestInputsThatAreAskedForLate(t *testing.T) {
	t.Parallel()
	needed, defaulted := asking(plan.AsksNeeded), asking(plan.AsksDefaulted)
	proceed := level(on(act(plan.ProceedWithDefaultValues), fault.InputTimeoutError))
	ignore := level(on(act(plan.Ignore), fault.InputTimeoutError))
	then := act(plan.MarkAsFailure)
	manual := func(n *plan.Node) { n.Manual = "3h" }
	again := level(on(plan.Action{Type: plan.Retry, RetryCount: 1, Then: &then}))
	tests := []struct {
		name   string
		plan   *plan.Node
		given  string
		script map[string][]any
		ends   string
		begun  string
		took   time.Duration
	}{
		{
			name: "a step goes on when it has its inputs", plan: pipeline(stage("s", st("a", needed), st("b"))), given: "a",
			ends: "p:Success s:Success a:Success b:Success", begun: "a b", took: time.Minute,
		},
		{
			name: "its own timeout ends the wait", plan: pipeline(stage("s", st("a", needed, timeout("5m")), st("b"))),
			ends: "p:Expired s:Expired a:Expired b:Skipped", took: 5 * time.Minute,
		},
		{
			name: "the failure is InputTimeoutError", plan: pipeline(stage("s", st("a", needed, ignore), st("b"))),
			ends: "p:IgnoreFailed s:IgnoreFailed a:IgnoreFailed b:Success", begun: "b",
		},
		{
			name: "ProceedWithDefaultValues goes on with the defaults", plan: pipeline(stage("s", st("a", defaulted, proceed, timeout("5m")))),
			ends: "p:Success s:Success a:Success", begun: "a", took: 5 * time.Minute,
		},
		{
			name: "ProceedWithDefaultValues fails where a default is missing", plan: pipeline(stage("s", st("a", needed, proceed))),
			ends: "p:Expired s:Expired a:Expired",
		},
		{
			name:   "ProceedWithDefaultValues is about inputs alone",
			plan:   pipeline(stage("s", st("a", defaulted, level(on(act(plan.ProceedWithDefaultValues)))))),
			given:  "a",
			script: map[string][]any{"a": {fails{fault.Unknown}}}, ends: "p:Failed s:Failed a:Failed", begun: "a",
		},
		{
			name: "nobody is asked twice", plan: pipeline(stage("s", st("a", needed, again))), given: "a",
			script: map[string][]any{"a": {fails{fault.Unknown}, true}}, ends: "p:Success s:Success a:Success", begun: "a a", took: time.Minute,
		},
		{
			name: "the stage's time bounds the wait", plan: pipeline(with(stage("s", st("a", needed, ignore)), timeout("2m"))),
			ends: "p:Expired s:Expired a:Expired", took: 2 * time.Minute,
		},
		{
			name: "a stage goes on when it has its inputs", plan: pipeline(with(stage("s", st("a")), needed), stage("t", st("b"))), given: "s",
			ends: "p:Success s:Success a:Success t:Success b:Success", took: time.Minute,
		},
		{
			name: "a stage waits a day", plan: pipeline(with(stage("s", st("a")), needed), stage("t", st("b"))),
			ends: "p:Expired s:Expired t:Skipped", took: 24 * time.Hour,
		},
		{
			name: "a stage's timeout ends it before", plan: pipeline(with(stage("s", st("a")), needed, timeout("1h"))),
			ends: "p:Expired s:Expired", took: time.Hour,
		},
		{
			name: "a stage goes on with the defaults", plan: pipeline(with(stage("s", st("a")), defaulted, proceed)),
			ends: "p:Success s:Success a:Success", took: 24 * time.Hour,
		},
		{
			name: "somebody runs a stage, whose own time begins then", plan: pipeline(with(stage("s", st("a")), manual, timeout("30s")), stage("t", st("b"))),
			given: "s", ends: "p:Success s:Success a:Success t:Success b:Success", took: time.Minute,
		},
		{
			name: "nobody runs a stage", plan: pipeline(with(stage("s", st("a")), manual, timeout("30s")), stage("t", st("b"))),
			ends: "p:Expired s:Expired t:Skipped", took: 3 * time.Hour,
		},
		{
			name: "the failure of a stage that nobody runs is Timeout",
			plan: pipeline(with(stage("s", st("a")), manual, level(on(act(plan.Ignore), fault.Timeout))), stage("t", st("b"))),
			ends: "p:IgnoreFailed s:IgnoreFailed t:Success b:Success",
		},
		{
			name: "a stage beside it goes on", plan: pipeline(parallel(with(stage("s", st("a")), manual), stage("t", st("b"))), stage("u", st("c"))),
			given: "s", ends: "p:Success s:Success a:Success t:Success b:Success u:Success c:Success",
		},
		{
			name: "a stage that nobody runs may roll the pipeline back, and has nothing to undo itself",
			plan: pipeline(
				rolling(stage("r", st("x")), st("back")),
				rolling(with(stage("s", st("a")), manual, level(on(act(plan.PipelineRollback), fault.Timeout))), st("never")),
			),
			ends: "p:Failed r:Success x:Success back:Success s:Expired", begun: "x back",
		},
		{
			name: "a stage may be ignored", plan: pipeline(with(stage("s", st("a")), needed, ignore), stage("t", st("b"))),
			ends: "p:IgnoreFailed s:IgnoreFailed t:Success b:Success", begun: "b",
		},
	}
	for _, tt := range tests {
		for _, twice := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				s := newSim(t, tt.plan)
				s.twice, s.script, s.given = twice, tt.script, strings.Fields(tt.given)
				start := s.now
				s.run(s.plan.Root.ID)
				if diff := cmp.Diff(tt.ends, s.ends()); diff != "" {
					t.Errorf("ends (-want +got):\n%s", diff)
				}
				if got := strings.Join(s.begun, " "); tt.begun != "" && got != tt.begun {
					t.Errorf("attempts began %q, want %q", got, tt.begun)
				}
				if got := s.now.Sub(start); tt.took != 0 && got != tt.took {
					t.Errorf("took %s, want %s", got, tt.took)
				}
			})
		}
	}
}
