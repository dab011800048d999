package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// TestRules holds the pipeline language's rules of order, conditions,
// failures, rollback and time. Each row is run twice: once plainly and once
// with every advance delivered twice.
func TestRules(t *testing.T) {
	t.Parallel()
	rollback := level(on(act(plan.StageRollback)))
	retry := func(n int, then plan.ActionType, intervals ...time.Duration) plan.Action {
		a := act(then)
		return plan.Action{Type: plan.Retry, RetryCount: n, RetryIntervals: intervals, Then: &a}
	}
	intervene := func(then plan.ActionType) plan.Action {
		a := act(then)
		return plan.Action{Type: plan.ManualIntervention, Timeout: time.Minute, Then: &a}
	}
	broken := fails{fault.Unknown}

	tests := []struct {
		name   string
		plan   func() *plan.Node
		script map[string][]any
		decide map[string]plan.ActionType
		loops  map[string]any
		ends   string
		pauses string        // what waited to be resumed
		begun  string        // attempts in order, where that matters
		took   time.Duration // of the clock, where that matters
	}{
		{
			name:  "pipeline §1.3 steps run in order and all succeed",
			plan:  func() *plan.Node { return pipeline(stage("s", st("a"), st("b")), stage("t", st("c"))) },
			ends:  "p:Success s:Success a:Success b:Success t:Success c:Success",
			begun: "a b c",
		},
		{
			name: "pipeline §1.3 parallel members and nested groups run",
			plan: func() *plan.Node {
				return pipeline(stage("s", parallel(st("a"), group("g", st("b"), group("h", st("c")))), st("d")))
			},
			ends:  "p:Success s:Success a:Success g:Success b:Success h:Success c:Success d:Success",
			begun: "a b c d",
		},
		{
			name: "pipeline §14.20 MarkAsFailure: B is skipped, C with All runs, no rollback, stage Failed",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", level(on(act(plan.MarkAsFailure)))), st("b"), st("c", when("All"))), st("r")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed b:Skipped c:Success",
		},
		{
			name: "pipeline §14.21 no strategy anywhere: identical to MarkAsFailure",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a"), st("b"), st("c", when("All"))), st("r")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed b:Skipped c:Success",
		},
		{
			name: "pipeline §14.21 StageRollback: B and C are never evaluated, rollback steps run, stage Failed",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", rollback), st("b"), st("c", when("All"))), st("r1"), st("r2")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed r1:Success r2:Success",
		},
		{
			name: "pipeline §14.22 an explicit type beats AllErrors at the same level",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", level(on(act(plan.Ignore)), on(act(plan.Abort), fault.Verification)))))
			},
			script: map[string][]any{"a": {fails{fault.Verification}}},
			ends:   "p:Aborted s:Aborted a:Aborted",
		},
		{
			name: "pipeline §14.23 a step's strategy for another type leaves the stage's to decide",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", level(on(act(plan.Ignore), fault.Timeout)), rollback)), st("r")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed r:Success",
		},
		{
			name: "pipeline §14.24 Retry twice, then roll back",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", level(on(retry(2, plan.StageRollback, 10*time.Second))))), st("r1"), st("r2")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed r1:Success r2:Success",
			begun:  "a a a r1 r2",
			took:   20 * time.Second,
		},
		{
			name: "pipeline §5.3 the last interval repeats",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", level(on(retry(3, plan.Ignore, time.Second, 5*time.Second))))))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:IgnoreFailed s:IgnoreFailed a:IgnoreFailed",
			took:   11 * time.Second,
		},
		{
			name: "pipeline §5.3 a retry that succeeds ends the step well",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", level(on(retry(3, plan.Abort, time.Second)))), st("b")))
			},
			script: map[string][]any{"a": {broken, true}},
			ends:   "p:Success s:Success a:Success b:Success",
			begun:  "a a b",
		},
		{
			name: "pipeline §5.3 a retry's condition that is false applies the fallback at once",
			plan: func() *plan.Node {
				a := retry(3, plan.MarkAsSuccess, time.Second)
				a.Condition = "false"
				return pipeline(stage("s", st("a", level(on(a)))))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Success s:Success a:Success",
			begun:  "a",
		},
		{
			name: "pipeline §14.25 a failing rollback step ends the section",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", rollback)), st("r1"), st("r2"), st("r3", when("All"))))
			},
			script: map[string][]any{"a": {broken}, "r1": {broken}},
			ends:   "p:Failed s:Failed a:Failed r1:Failed",
		},
		{
			name: "pipeline §14.25 unless its own strategy marks it failed and the next says All",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", rollback)), st("r1", level(on(act(plan.MarkAsFailure)))), st("r2"), st("r3", when("All"))))
			},
			script: map[string][]any{"a": {broken}, "r1": {broken}},
			ends:   "p:Failed s:Failed a:Failed r1:Failed r2:Skipped r3:Success",
		},
		{
			name: "pipeline §14.27 a parallel sibling finishes before the rollback",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", parallel(st("a", rollback), st("b")), st("c")), st("r")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed b:Success r:Success",
			begun:  "a b r",
		},
		{
			name: "pipeline §5.4 a group's step rolls its stage back, not the group alone",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", group("g", st("a", rollback), st("b")), st("c")), st("r")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed g:Failed a:Failed r:Success",
		},
		{
			name: "pipeline §5.4 a later stage with Failure runs after a rolled-back stage",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", rollback)), stage("t", st("b")), with(stage("u", st("c")), when("Failure")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed t:Skipped u:Success c:Success",
		},
		{
			name: "pipeline §14.28 an abort rolls nothing back and runs no All",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", rollback), st("b", when("All"))), st("r")), with(stage("t", st("c")), when("All")))
			},
			script: map[string][]any{"a": {"abort"}},
			ends:   "p:Aborted s:Aborted a:Aborted",
		},
		{
			name: "pipeline §14.29 the pipeline's time is up: Expired, no strategies",
			plan: func() *plan.Node {
				return with(pipeline(rolling(stage("s", st("a", rollback, timeout("1h"))), st("r"))), timeout("1m"))
			},
			script: map[string][]any{"a": {hang{}}},
			ends:   "p:Expired s:Expired a:Expired",
			took:   time.Minute,
		},
		{
			name: "pipeline §5.5 a step's time is up: its strategies see Timeout",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", timeout("30s"), level(on(act(plan.MarkAsSuccess), fault.Timeout))), st("b")))
			},
			script: map[string][]any{"a": {hang{}}},
			ends:   "p:Success s:Success a:Success b:Success",
			took:   30 * time.Second,
		},
		{
			name: "pipeline §5.5 a stage's time is up: its strategy rolls back with time of its own",
			plan: func() *plan.Node {
				s := rolling(stage("s", st("a", timeout("1h"), level(on(act(plan.Ignore))))), st("r"))
				return pipeline(with(s, timeout("1m"), rollback))
			},
			script: map[string][]any{"a": {hang{}}, "r": {took(5 * time.Minute)}},
			ends:   "p:Failed s:Failed a:Expired r:Success",
			took:   6 * time.Minute,
		},
		{
			name:   "pipeline §5.5 a stage's time is up without a strategy: Expired",
			plan:   func() *plan.Node { return pipeline(with(stage("s", st("a", timeout("1h")), st("b")), timeout("1m"))) },
			script: map[string][]any{"a": {hang{}}},
			ends:   "p:Expired s:Expired a:Expired",
		},
		{
			name:   "pipeline §14.30 nobody intervenes: the fallback",
			plan:   func() *plan.Node { return pipeline(stage("s", st("a", level(on(intervene(plan.MarkAsSuccess)))))) },
			script: map[string][]any{"a": {broken}},
			ends:   "p:Success s:Success a:Success",
			took:   time.Minute,
		},
		{
			name:   "pipeline §5.3 a person ignores the failure",
			plan:   func() *plan.Node { return pipeline(stage("s", st("a", level(on(intervene(plan.Abort)))), st("b"))) },
			script: map[string][]any{"a": {broken}},
			decide: map[string]plan.ActionType{"a": plan.Ignore},
			ends:   "p:IgnoreFailed s:IgnoreFailed a:IgnoreFailed b:Success",
		},
		{
			name: "pipeline §5.3 a person retries, it fails again, nobody answers",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", level(on(intervene(plan.MarkAsFailure)))), st("b")))
			},
			script: map[string][]any{"a": {broken}},
			decide: map[string]plan.ActionType{"a": plan.Retry},
			ends:   "p:Failed s:Failed a:Failed b:Skipped",
			begun:  "a a",
		},
		{
			name: "pipeline §4 Failure runs only after a failure; an ignored one satisfies both",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("x", when("Failure")), st("a", level(on(act(plan.Ignore)))), st("b"), st("c", when("Failure"))))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:IgnoreFailed s:IgnoreFailed x:Skipped a:IgnoreFailed b:Success c:Success",
		},
		{
			name: "pipeline §4 a condition that is false skips the node and its children",
			plan: func() *plan.Node {
				return pipeline(stage("s", with(group("g", st("a")), when("Success", "false")), st("b", when("Success", "true"))))
			},
			ends:  "p:Success s:Success g:Skipped b:Success",
			begun: "b",
		},
		{
			name: "pipeline §4 a condition that can't be evaluated fails the node",
			plan: func() *plan.Node { return pipeline(stage("s", st("a", when("Success", "nonsense")), st("b"))) },
			ends: "p:Failed s:Failed a:Failed b:Skipped",
		},
		{
			name: "pipeline §5.2 a condition that can't be evaluated goes to the strategies: the stage rolls back",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a"), st("b", when("Success", "maybe"), rollback)), st("r")))
			},
			ends:  "p:Failed s:Failed a:Success b:Failed r:Success",
			begun: "a r",
		},
		{
			name: "pipeline §5.2 its type is ConfigurationFailure",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", when("Success", "maybe"), level(on(act(plan.Ignore), fault.ConfigurationFailure))), st("b")))
			},
			ends: "p:IgnoreFailed s:IgnoreFailed a:IgnoreFailed b:Success",
		},
		{
			name: "pipeline §5.3 a Retry evaluates the condition again: it runs then",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", when("Success", "a minute later: true"), level(on(retry(3, plan.Ignore, time.Minute))))))
			},
			ends:  "p:Success s:Success a:Success",
			begun: "a", took: time.Minute,
		},
		{
			name: "pipeline §5.3 or is skipped then",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", when("Success", "a minute later: false"), level(on(retry(3, plan.Ignore, time.Minute))))))
			},
			ends: "p:Success s:Success a:Skipped",
			took: time.Minute,
		},
		{
			name: "pipeline §5.3 a condition that held isn't evaluated again",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", when("Success", "for a minute"), level(on(retry(3, plan.Ignore, time.Minute))))))
			},
			script: map[string][]any{"a": {broken, true}},
			ends:   "p:Success s:Success a:Success",
			begun:  "a a", took: time.Minute,
		},
		{
			name: "pipeline §5.3 retries that are used up lead to what follows",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", when("Success", "maybe"), level(on(retry(2, plan.StageRollback, time.Minute))))), st("r")))
			},
			ends:  "p:Failed s:Failed a:Failed r:Success",
			begun: "r", took: 2 * time.Minute,
		},
		{
			name: "pipeline §5.2 a group that can't begin rolls its stage back, and isn't undone",
			plan: func() *plan.Node {
				g := with(rolling(group("g", st("b")), st("q")), when("Success", "maybe"), rollback)
				return pipeline(rolling(stage("s", st("a"), g, st("c")), st("r")))
			},
			ends:  "p:Failed s:Failed a:Success g:Failed r:Success",
			begun: "a r",
		},
		{
			name: "pipeline §5.2 a group whose timeout can't be evaluated does what follows its retries",
			plan: func() *plan.Node {
				g := with(group("g", st("b")), timeout("soon"), level(on(retry(2, plan.Ignore))))
				return pipeline(stage("s", g, st("c")))
			},
			ends: "p:IgnoreFailed s:IgnoreFailed g:IgnoreFailed c:Success",
		},
		{
			name: "pipeline §5.2 a loop that can't be found out rolls its stage back",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a"), loop(st("b", rollback))), st("r")))
			},
			loops: map[string]any{"b": errors.New("no such list")},
			ends:  "p:Failed s:Failed a:Success b:Failed r:Success",
			begun: "a r",
		},
		{
			name: "pipeline §5.2 a stage that can't begin rolls the pipeline back, and isn't undone",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a")), st("r")),
					with(rolling(stage("t", st("b")), st("q")), when("Success", "maybe"), level(on(act(plan.PipelineRollback)))), stage("u", st("c")))
			},
			ends:  "p:Failed s:Success a:Success r:Success t:Failed",
			begun: "a r",
		},
		{
			name: "pipeline §5.4 a rollback step whose condition can't be evaluated ends the section",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", rollback)), st("q", when("Success", "maybe")), st("r", when("All"))))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed q:Failed",
		},
		{
			name: "pipeline §4 members of a parallel block see the state at its start",
			plan: func() *plan.Node {
				return pipeline(stage("s", parallel(st("a"), st("b"), st("f", when("Failure"))), st("c")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed b:Success f:Skipped c:Skipped",
		},
		{
			name: "pipeline §4 all steps skipped is Success",
			plan: func() *plan.Node { return pipeline(with(stage("s", st("a")), when("Failure"))) },
			ends: "p:Success s:Skipped",
		},
		{
			name: "pipeline §5.4 PipelineRollback: stages that began are undone in reverse, later ones don't run",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a")), st("r")), stage("none", st("b")),
					parallel(rolling(stage("t", st("c")), st("q")), rolling(stage("u", st("d", level(on(act(plan.PipelineRollback)))), st("e")), st("o"))),
					rolling(with(stage("v", st("f")), when("All")), st("n")))
			},
			script: map[string][]any{"d": {broken}},
			ends:   "p:Failed s:Success a:Success r:Success none:Success b:Success t:Success c:Success q:Success u:Failed d:Failed o:Success",
			begun:  "a b c d q o r",
		},
		{
			name: "pipeline §5.4 PipelineRollback leaves a chained pipeline as it is",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a")), st("r")), chained("c"),
					parallel(chained("d"), rolling(stage("t", st("b", level(on(act(plan.PipelineRollback))))), st("q"))))
			},
			script: map[string][]any{"b": {broken}, "pipeline": {runs{time.Hour, plan.Success}}},
			ends:   "p:Failed s:Success a:Success r:Success c:Success pipeline:Success d:Success pipeline:Success t:Failed b:Failed q:Success",
			begun:  "a pipeline pipeline b q r",
		},
		{
			name: "pipeline §5.4 PipelineRollback goes on when the rollback of a stage fails",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a")), st("r")), rolling(stage("t", st("b", level(on(act(plan.PipelineRollback))))), st("q1"), st("q2")))
			},
			script: map[string][]any{"b": {broken}, "q1": {broken}, "s": {broken}},
			ends:   "p:Failed s:Success a:Success r:Success t:Failed b:Failed q1:Failed",
		},
		{
			name: "pipeline §5.4 PipelineRollback undoes iterations that began, and not what has rolled back by itself",
			plan: func() *plan.Node {
				return pipeline(loop(rolling(stage("s", st("a", level(on(act(plan.StageRollback)))), st("x", when("All"))), st("r"))),
					with(rolling(stage("t", st("b", level(on(act(plan.PipelineRollback))))), st("q")), when("All")))
			},
			script: map[string][]any{"a": {true}, "b": {broken}},
			loops:  map[string]any{"s": 2},
			ends:   "p:Failed s:Success s_0:Success a:Success x:Success r:Success s_1:Success a:Success x:Success r:Success t:Failed b:Failed q:Success",
			begun:  "a x a x b q r r",
		},
		{
			name: "pipeline §5.4 a stage that rolled back isn't undone again",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a", rollback)), st("r")),
					with(rolling(stage("t", st("b", level(on(act(plan.PipelineRollback))))), st("q")), when("All")))
			},
			script: map[string][]any{"a": {broken}, "b": {broken}},
			ends:   "p:Failed s:Failed a:Failed r:Success t:Failed b:Failed q:Success",
			begun:  "a r b q",
		},
		{
			name: "pipeline §5.4 StepGroupRollback: the group's rollbackSteps, the group is Failed, its stage rolls nothing back",
			plan: func() *plan.Node {
				g := rolling(group("g", st("a"), st("b", level(), level(on(act(plan.StageRollback)))), st("c")), st("gr"))
				g.Children[1].Strategies[0] = []plan.Strategy{on(plan.Action{Type: plan.StepGroupRollback, Depth: 1})}
				return pipeline(rolling(stage("s", g, st("d"), st("e", when("Failure"))), st("r")))
			},
			script: map[string][]any{"b": {broken}},
			ends:   "p:Failed s:Failed g:Failed a:Success b:Failed gr:Success d:Skipped e:Success",
		},
		{
			name: "pipeline §5.4 StepGroupRollback of an outer group ends the inner one",
			plan: func() *plan.Node {
				inner := group("h", st("b", level(on(plan.Action{Type: plan.StepGroupRollback, Depth: 1}))), st("x", when("All")))
				return pipeline(stage("s", rolling(group("g", inner, st("c", when("All"))), st("gr"))))
			},
			script: map[string][]any{"b": {broken}},
			ends:   "p:Failed s:Failed g:Failed h:Failed b:Failed gr:Success",
		},
		{
			name: "pipeline §5.4 StageRollback undoes groups in reverse before the stage's rollbackSteps",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", rolling(group("g", st("a")), st("gr")), parallel(rolling(group("h", st("b")), st("hr")), st("c", rollback)),
					rolling(group("i", st("d")), st("ir"))), st("r")))
			},
			script: map[string][]any{"c": {broken}},
			ends:   "p:Failed s:Failed g:Success a:Success gr:Success h:Success b:Success hr:Success c:Failed r:Success",
			begun:  "a b c hr gr r",
		},
		{
			name: "pipeline §5.1 RetryStepGroup: the group runs again from its first step, after the interval",
			plan: func() *plan.Node {
				again := plan.Action{Type: plan.RetryStepGroup, Depth: 1, RetryCount: 2, RetryIntervals: []time.Duration{time.Minute}}
				return pipeline(stage("s", group("g", st("a"), group("h", st("b", level(), level(on(again)))), parallel(st("c"))), st("d")))
			},
			script: map[string][]any{"b": {broken, broken, true}},
			ends:   "p:Success s:Success g:Success a:Success h:Success b:Success c:Success d:Success",
			begun:  "a b a b a b c d",
			took:   2 * time.Minute,
		},
		{
			name: "pipeline §5.1 RetryStepGroup: the retries are used up",
			plan: func() *plan.Node {
				again := plan.Action{Type: plan.RetryStepGroup, Depth: 1, RetryCount: 1}
				return pipeline(rolling(stage("s", group("g", loop(st("a", level(on(again))))), st("d")), st("r")))
			},
			script: map[string][]any{"a_1": {broken}},
			loops:  map[string]any{"a": 2},
			ends:   "p:Failed s:Failed g:Failed a:Failed a_0:Success a_1:Failed d:Skipped",
			begun:  "a_0 a_1 a_0 a_1",
		},
		{
			name: "pipeline §5.1 a step's own retries are counted anew when its group runs again",
			plan: func() *plan.Node {
				again := plan.Action{Type: plan.RetryStepGroup, Depth: 1, RetryCount: 1}
				own := plan.Action{Type: plan.Retry, RetryCount: 1, Then: &again}
				return pipeline(stage("s", group("g", st("a", level(on(own))))))
			},
			script: map[string][]any{"a": {broken, broken, broken, true}},
			ends:   "p:Success s:Success g:Success a:Success",
			begun:  "a a a a",
		},
		{
			name: "pipeline §5.3 a person asks for the pipeline's rollback",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a")), st("r")), stage("t", st("b", level(on(intervene(plan.Ignore))))))
			},
			script: map[string][]any{"b": {broken}},
			decide: map[string]plan.ActionType{"b": plan.PipelineRollback},
			ends:   "p:Failed s:Success a:Success r:Success t:Failed b:Failed",
		},
		{
			name: "pipeline §5.6 an abort in a pipeline's rollback ends it",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", st("a")), st("r")), rolling(stage("t", st("b", level(on(act(plan.PipelineRollback))))), st("q")))
			},
			script: map[string][]any{"b": {broken}, "q": {"abort"}},
			ends:   "p:Aborted s:Success a:Success t:Aborted b:Failed q:Aborted",
		},
		{
			name:   "pipeline §5.6 a pause lets what runs go on; nothing starts before it is resumed",
			plan:   func() *plan.Node { return pipeline(stage("s", st("a"), st("b")), stage("t", st("c"))) },
			script: map[string][]any{"a": {"pause"}},
			ends:   "p:Success s:Success a:Success b:Success t:Success c:Success",
			pauses: "s",
		},
		{
			name: "pipeline §5.6 a pause before a stage, an iteration and rollback steps",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a")), rolling(stage("t", loop(st("b", rollback))), st("r")))
			},
			script: map[string][]any{"a": {"pause"}, "b_0": {"pause"}, "b_1": {broken}},
			loops:  map[string]any{"b": 2},
			ends:   "p:Failed s:Success a:Success t:Failed b:Failed b_0:Success b_1:Failed r:Success",
			pauses: "p b_1",
		},
		{
			name: "pipeline §5.6 a step that a person marks as failed goes to its strategies",
			plan: func() *plan.Node {
				return pipeline(stage("s", st("a", level(on(act(plan.Ignore), fault.UserMarkedFailure))), st("b")))
			},
			script: map[string][]any{"a": {"marked"}},
			ends:   "p:IgnoreFailed s:IgnoreFailed a:IgnoreFailed b:Success",
		},
		{
			name:  "pipeline §6 a looped step runs once for each iteration, then the next step",
			plan:  func() *plan.Node { return pipeline(stage("s", loop(st("a")), st("b"))) },
			loops: map[string]any{"a": 3},
			ends:  "p:Success s:Success a:Success a_0:Success a_1:Success a_2:Success b:Success",
			begun: "a_0 a_1 a_2 b",
		},
		{
			name:  "pipeline §6 loops of stage, group and step are nested",
			plan:  func() *plan.Node { return pipeline(loop(stage("s", loop(group("g", loop(st("a"))))))) },
			loops: map[string]any{"s": 2, "g": 1, "a": 2},
			ends: "p:Success s:Success s_0:Success g:Success g_0:Success a:Success a_0:Success a_1:Success " +
				"s_1:Success g:Success g_0:Success a:Success a_0:Success a_1:Success",
		},
		{
			name:  "pipeline §6 no iterations: the node is skipped, what follows runs",
			plan:  func() *plan.Node { return pipeline(loop(stage("s", st("a"))), stage("t", st("b"))) },
			loops: map[string]any{"s": 0},
			ends:  "p:Success s:Skipped t:Success b:Success",
		},
		{
			name:  "pipeline §6 a strategy that can't be evaluated fails the node",
			plan:  func() *plan.Node { return pipeline(stage("s", loop(st("a")), st("b"))) },
			loops: map[string]any{"a": errors.New("no such list")},
			ends:  "p:Failed s:Failed a:Failed b:Skipped",
		},
		{
			name:   "pipeline §4 a loop behind a failure is skipped without being evaluated",
			plan:   func() *plan.Node { return pipeline(stage("s", st("a"), loop(st("b")))) },
			script: map[string][]any{"a": {broken}},
			loops:  map[string]any{"b": errors.New("no such list")},
			ends:   "p:Failed s:Failed a:Failed b:Skipped",
		},
		{
			name:  "pipeline §4 a condition holds for each iteration alone",
			plan:  func() *plan.Node { return pipeline(stage("s", loop(st("a", when("Success", "false"))), st("b"))) },
			loops: map[string]any{"a": 2},
			ends:  "p:Success s:Success a:Success a_0:Skipped a_1:Skipped b:Success",
		},
		{
			name:   "pipeline §6 RunAll: every iteration runs although one fails; the loop is Failed",
			plan:   func() *plan.Node { return pipeline(stage("s", loop(st("a")), st("b"), st("c", when("All")))) },
			script: map[string][]any{"a_0": {broken}},
			loops:  map[string]any{"a": 3},
			ends:   "p:Failed s:Failed a:Failed a_0:Failed a_1:Success a_2:Success b:Skipped c:Success",
		},
		{
			name:   "pipeline §6 SkipQueued: iterations that haven't started are skipped",
			plan:   func() *plan.Node { return pipeline(stage("s", loop(st("a"), skipQueued))) },
			script: map[string][]any{"a_1": {broken}},
			loops:  map[string]any{"a": 4},
			ends:   "p:Failed s:Failed a:Failed a_0:Success a_1:Failed a_2:Skipped a_3:Skipped",
		},
		{
			name: "pipeline §5.4 StageRollback after a group whose loop couldn't be found out: nothing of it is undone",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", loop(rolling(group("g", st("a")), st("u"))), st("b", when("All"), rollback)), st("r")))
			},
			script: map[string][]any{"b": {broken}},
			loops:  map[string]any{"g": errors.New("no such list")},
			ends:   "p:Failed s:Failed g:Failed b:Failed r:Success",
		},
		{
			name: "pipeline §5.4 failAll: the other groups of the block stop, and the stage turns back",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", parallel(st("a", failAll), group("g", st("b"), st("c", when("All"))), st("d")), st("e")), st("r")))
			},
			script: map[string][]any{"a": {broken}, "d": {broken}},
			ends:   "p:Failed s:Failed a:Failed g:Failed d:Failed r:Success",
			begun:  "a d r",
		},
		{
			name: "pipeline §5.4 failAll: a step of the block that deploys is ended, and its strategies don't apply",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", parallel(st("a", failAll), st("b", level(on(act(plan.Ignore))), deploying))), st("r")))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed b:Failed r:Success",
			begun:  "a r",
		},
		{
			name: "pipeline §5.4 failAll: iterations that haven't started are skipped",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", loop(st("a", failAll, deploying))), st("r")))
			},
			script: map[string][]any{"a_1": {broken}},
			loops:  map[string]any{"a": 4},
			ends:   "p:Failed s:Failed a:Failed a_0:Success a_1:Failed a_2:Skipped a_3:Skipped r:Success",
		},
		{
			name: "pipeline §5.4 StageRollback with failAll is its stage's affair alone",
			plan: func() *plan.Node {
				return pipeline(parallel(stage("s", st("a", failAll)), stage("t", st("b"), st("c"))))
			},
			script: map[string][]any{"a": {broken}},
			ends:   "p:Failed s:Failed a:Failed t:Success b:Success c:Success",
		},
		{
			name:   "pipeline §5.2 strategies on a looped step act on the iteration",
			plan:   func() *plan.Node { return pipeline(stage("s", loop(st("a", level(on(retry(1, plan.Ignore))))))) },
			script: map[string][]any{"a_0": {broken, true}, "a_1": {broken, broken}},
			loops:  map[string]any{"a": 2},
			ends:   "p:IgnoreFailed s:IgnoreFailed a:IgnoreFailed a_0:Success a_1:IgnoreFailed",
			begun:  "a_0 a_0 a_1 a_1",
		},
		{
			name: "pipeline §6 StageRollback: each iteration of a stage rolls back alone",
			plan: func() *plan.Node {
				return pipeline(loop(rolling(stage("s", st("a", rollback)), st("r"))), stage("t", st("b")))
			},
			script: map[string][]any{"a": {broken}},
			loops:  map[string]any{"s": 2},
			ends:   "p:Failed s:Failed s_0:Failed a:Failed r:Success s_1:Failed a:Failed r:Success t:Skipped",
		},
		{
			name: "pipeline §5.4 StageRollback in a looped step rolls its stage back once",
			plan: func() *plan.Node {
				return pipeline(rolling(stage("s", loop(st("a", rollback)), st("b")), st("r")))
			},
			script: map[string][]any{"a_0": {broken}},
			loops:  map[string]any{"a": 2},
			ends:   "p:Failed s:Failed a:Failed a_0:Failed a_1:Success r:Success",
		},
		{
			name: "pipeline §5.5 iterations that are queued when the stage's time is up are Expired",
			plan: func() *plan.Node {
				return pipeline(with(stage("s", loop(st("a", timeout("1h"))), st("b")), timeout("10s")))
			},
			script: map[string][]any{"a_0": {hang{}}},
			loops:  map[string]any{"a": 3},
			ends:   "p:Expired s:Expired a:Expired a_0:Expired a_1:Expired a_2:Expired",
			took:   10 * time.Second,
		},
		{
			name:   "pipeline §5.6 iterations that are queued when somebody aborts are Aborted",
			plan:   func() *plan.Node { return pipeline(stage("s", loop(st("a")), st("b", when("All")))) },
			script: map[string][]any{"a_0": {"abort"}},
			loops:  map[string]any{"a": 2},
			ends:   "p:Aborted s:Aborted a:Aborted a_0:Aborted a_1:Aborted",
		},
		{
			name:   "pipeline §8.2 a rejected approval shows in stage and pipeline",
			plan:   func() *plan.Node { return pipeline(stage("s", st("a")), stage("t", st("b"))) },
			script: map[string][]any{"a": {plan.ApprovalRejected}},
			ends:   "p:ApprovalRejected s:ApprovalRejected a:ApprovalRejected t:Skipped",
		},
	}
	for _, tt := range tests {
		for _, twice := range []bool{false, true} {
			name := tt.name
			if twice {
				name += ", delivered twice"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSim(t, tt.plan())
				s.twice = twice
				for k, v := range tt.script {
					s.script[k] = v
				}
				for k, v := range tt.decide {
					s.decide[k] = v
				}
				s.loops = tt.loops
				start := s.now
				s.run(s.plan.Root.ID)
				if diff := cmp.Diff(tt.ends, s.ends()); diff != "" {
					t.Errorf("ends (-want +got):\n%s", diff)
				}
				if got := strings.Join(s.pauses, " "); got != tt.pauses {
					t.Errorf("paused in %q, want %q", got, tt.pauses)
				}
				if got := strings.Join(s.begun, " "); tt.begun != "" && got != tt.begun {
					t.Errorf("attempts began %q, want %q", got, tt.begun)
				}
				if len(s.stopped) > 0 {
					t.Errorf("stopped the executions %q", s.stopped)
				}
				if got := s.now.Sub(start); tt.took != 0 && got != tt.took {
					t.Errorf("took %s, want %s", got, tt.took)
				}
			})
		}
	}
}
