package resolve_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/resolve"
)

const statusYAML = `
identifier: shop
name: Shop
stages:
  - stage:
      identifier: s
      name: S
      type: Custom
      spec:
        execution:
          steps:
            - parallel:
                - step: {identifier: a, name: A, type: Wait, spec: {duration: 1m}}
                - stepGroup:
                    identifier: g
                    name: G
                    steps:
                      - step: {identifier: b, name: B, type: Wait, spec: {duration: 1m}}
                      - step: {identifier: c, name: C, type: Wait, when: {stageStatus: All}, spec: {duration: 1m}}
                - step: {identifier: l, name: L, type: Wait, strategy: {parallelism: 2}, spec: {duration: 1m}}
          rollbackSteps:
            - step: {identifier: r, name: R, type: Wait, spec: {duration: 1m}}
`

// semantics/pipeline §3.7: status is the node's own; currentStatus and
// liveStatus tell of a failure while others run, the latter also of one in a
// loop.
func TestStatusesOfWhatRuns(t *testing.T) {
	t.Parallel()
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(t, statusYAML)})
	if err != nil {
		t.Fatal(err)
	}
	const (
		stage = "pipeline.stages.s"
		block = stage + ".spec.execution.steps#0"
		group = stage + ".spec.execution.steps.g"
		loop  = stage + ".spec.execution.steps.l"
	)
	running := plan.State{Status: plan.Running}
	failed := plan.State{Status: plan.Failed}
	looped := plan.State{Status: plan.Running, Iterations: &plan.Iterations{List: []plan.Iteration{{Postfix: "_0"}, {Postfix: "_1"}}}}
	tests := []struct {
		name   string
		states map[plan.NodeID]plan.State
		want   string // of the pipeline, the stage and the group
	}{
		{
			"nothing has failed", map[plan.NodeID]plan.State{group: running},
			"RUNNING RUNNING RUNNING | RUNNING RUNNING RUNNING | RUNNING RUNNING RUNNING",
		},
		{
			"a step beside others has", map[plan.NodeID]plan.State{group: running, stage + ".spec.execution.steps.a": failed},
			"RUNNING FAILED FAILED | RUNNING FAILED FAILED | RUNNING RUNNING RUNNING",
		},
		{
			"a step of a group that goes on has", map[plan.NodeID]plan.State{group: {Status: plan.Running, Worst: plan.Expired, Cursor: 1}},
			"RUNNING EXPIRED EXPIRED | RUNNING EXPIRED EXPIRED | RUNNING EXPIRED EXPIRED",
		},
		{
			"an ignored failure is none", map[plan.NodeID]plan.State{group: {Status: plan.Running, Worst: plan.IgnoreFailed, Cursor: 1}},
			"RUNNING RUNNING RUNNING | RUNNING RUNNING RUNNING | RUNNING RUNNING RUNNING",
		},
		{
			"an iteration has", map[plan.NodeID]plan.State{group: running, loop: looped, loop + "_1": failed},
			"RUNNING RUNNING FAILED | RUNNING RUNNING FAILED | RUNNING RUNNING RUNNING",
		},
		{
			"all iterations have ended", map[plan.NodeID]plan.State{group: running, loop: {Status: plan.Failed, Iterations: looped.Iterations}},
			"RUNNING FAILED FAILED | RUNNING FAILED FAILED | RUNNING RUNNING RUNNING",
		},
		{
			"the stage rolls back", map[plan.NodeID]plan.State{group: failed, stage: {Status: plan.Running, Rollback: true, Worst: plan.Failed}},
			"RUNNING FAILED FAILED | RUNNING FAILED FAILED | FAILED FAILED FAILED",
		},
		{
			"it is undone after it has failed", map[plan.NodeID]plan.State{group: failed, stage: {Status: plan.Running, Rollback: true, Worst: plan.Success, Forward: plan.Failed}},
			"RUNNING FAILED FAILED | RUNNING FAILED FAILED | FAILED FAILED FAILED",
		},
		{
			"it has ended", map[plan.NodeID]plan.State{group: {Status: plan.IgnoreFailed}, stage: {Status: plan.Success, Worst: plan.Expired}},
			"RUNNING RUNNING RUNNING | SUCCEEDED SUCCEEDED SUCCEEDED | IGNORE_FAILED IGNORE_FAILED IGNORE_FAILED",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := resolve.New(resolve.Config{
				Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node(stage + ".spec.execution.rollbackSteps.r"),
				State: func(id plan.NodeID) plan.State {
					if st, ok := tt.states[id]; ok || id != p.Root.ID && id != stage && id != block {
						return st
					}
					return running
				},
			})
			got, err := s.Text(`<+pipeline.status> <+pipeline.currentStatus> <+pipeline.liveStatus> | <+stage.status> <+stage.currentStatus> <+stage.liveStatus> | ` +
				`<+execution.steps.g.status> <+execution.steps.g.currentStatus> <+execution.steps.g.liveStatus>`)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
