package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func deploysNow(n *plan.Node) { n.Deployment = &plan.Deployment{} }

// semantics/entities §15: a Deployment stage that is frozen when it begins ends
// its execution; what has begun finishes, and what rolls back isn't held up.
func TestAFrozenStageEndsItsExecution(t *testing.T) {
	t.Parallel()
	rollsBack := on(act(plan.PipelineRollback))
	tests := []struct {
		name   string
		plan   *plan.Node
		frozen string // identifiers of stages and loops
		from   time.Duration
		script map[string][]any
		loops  map[string]any
		ends   string
	}{
		{
			name: "what follows doesn't run, whatever its condition is", frozen: "s",
			plan: pipeline(stage("r", st("a")), with(stage("s", st("b")), deploysNow), with(stage("t", st("c")), when("All", "true"))),
			ends: "p:AbortedByFreeze r:Success a:Success s:AbortedByFreeze",
		},
		{
			name: "stages that deploy nothing aren't concerned", frozen: "s",
			plan: pipeline(stage("s", st("b"))), ends: "p:Success s:Success b:Success",
		},
		{
			name: "one that chooses is judged when it has", frozen: "s",
			plan: pipeline(with(stage("s", st("b")), deploysLate)), ends: "p:AbortedByFreeze s:AbortedByFreeze",
		},
		{
			name: "one that is skipped isn't judged", frozen: "s",
			plan: pipeline(with(stage("s", st("b")), deploysNow, when("All", "false"))), ends: "p:Success s:Skipped",
		},
		{
			name: "a stage that has begun finishes", frozen: "s", from: time.Minute,
			script: map[string][]any{"a": {took(2 * time.Minute)}},
			plan:   pipeline(with(stage("s", st("a", timeout("1h")), st("b")), deploysNow), with(stage("t", st("c")), deploysNow)),
			ends:   "p:Success s:Success a:Success b:Success t:Success c:Success",
		},
		{
			name: "a freeze that begins between stages ends it there", frozen: "t", from: time.Minute,
			script: map[string][]any{"a": {took(2 * time.Minute)}},
			plan:   pipeline(with(stage("s", st("a", timeout("1h"))), deploysNow), with(stage("t", st("c")), deploysNow)),
			ends:   "p:AbortedByFreeze s:Success a:Success t:AbortedByFreeze",
		},
		{
			name: "beside others those finish", frozen: "t",
			plan: pipeline(parallel(with(stage("s", st("a")), deploysNow), with(stage("t", st("b")), deploysNow)), stage("u", st("c"))),
			ends: "p:AbortedByFreeze s:Success a:Success t:AbortedByFreeze",
		},
		{
			name: "a rollback of the pipeline that another asks for runs", frozen: "t",
			script: map[string][]any{"a": {fails{fault.Unknown}}},
			plan: pipeline(rolling(with(stage("r", st("x")), deploysNow), st("y")),
				parallel(with(stage("s", st("a", level(rollsBack))), deploysNow), with(stage("t", st("b")), deploysNow))),
			ends: "p:Failed r:Success x:Success y:Success s:Failed a:Failed t:AbortedByFreeze",
		},
		{
			name: "of a loop nothing begins", frozen: "s", loops: map[string]any{"s": 2},
			plan: pipeline(loop(with(stage("s", st("a")), deploysNow)), stage("t", st("b"))),
			ends: "p:AbortedByFreeze s:AbortedByFreeze",
		},
		{
			name: "of a stage with several deployments nothing begins", frozen: "s", loops: map[string]any{"s": deployments(false, 0, 0)},
			plan: pipeline(loop(with(stage("s", st("a")), deploysLate), func(l *plan.Loop) { l.Deploys = true }), stage("t", st("b"))),
			ends: "p:AbortedByFreeze s:AbortedByFreeze",
		},
		{
			name: "iterations that choose are judged as of the loop's start", frozen: "s_0,s_1", from: time.Minute,
			loops: map[string]any{"s": 2}, script: map[string][]any{"a": {took(2 * time.Minute)}},
			plan: pipeline(loop(with(stage("s", st("a", timeout("1h"))), deploysLate))),
			ends: "p:Success s:Success s_0:Success a:Success s_1:Success a:Success",
		},
	}
	for _, tt := range tests {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, twice: %v", tt.name, twice), func(t *testing.T) {
				t.Parallel()
				s := newSim(t, tt.plan)
				s.turn, s.twice, s.script, s.loops = true, twice, tt.script, tt.loops
				s.choose = func() (*plan.Deployment, error) { return &plan.Deployment{}, nil }
				start := s.now
				s.frozen = func(n *plan.Node, at time.Time) Frozen {
					if !strings.Contains(tt.frozen, n.Identifier) || at.Before(start.Add(tt.from)) {
						return Frozen{}
					}
					return Frozen{Stops: "deployment freeze f"}
				}
				s.run("p")
				if diff := cmp.Diff(tt.ends, s.ends()); diff != "" {
					t.Errorf("ends (-want +got):\n%s", diff)
				}
			})
		}
	}
}
