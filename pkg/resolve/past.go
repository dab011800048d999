package resolve

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Past is a stage of an execution, which has deployed something.
type Past struct {
	Plan      *plan.Plan
	Stage     *plan.Node
	State     func(plan.NodeID) plan.State
	Execution store.Execution
}

// last is what Last says, asked once for a stage: it reads executions.
func (dep deployments) last(stage *plan.Node, d *plan.Deployment) (*Past, error) {
	if past, ok := dep.scope.pasts[stage.ID]; ok {
		return past, nil
	}
	past, err := dep.scope.Last(stage, d)
	if err == nil {
		dep.scope.pasts[stage.ID] = past
	}
	return past, err
}

// rollback resolves rollbackArtifact.X: artifact.X of the last stage that
// has deployed the same service to the same infrastructure, and
// rollbackArtifact.sidecars.ID.X. Null if there is none
// (semantics/entities §2.2).
func (dep deployments) rollback(stage *plan.Node, d *deployed, path []string) (expr.Value, int, error) {
	if last := path[len(path)-1]; slices.Contains([]string{"imagePullSecret", "dockerConfigJsonSecret"}, last) {
		return expr.Null(), 0, unknown("an earlier artifact has no %s; take <+artifact.%[1]s>", last)
	}
	if dep.scope.Last == nil || len(path) < 2 {
		return expr.Null(), len(path), nil
	}
	past, err := dep.last(stage, d.Deployment)
	if err != nil || past == nil || len(past.Stage.Children) == 0 {
		return expr.Null(), len(path), err
	}
	then := *dep.scope // its secrets are this node's
	then.Plan, then.Node, then.State, then.Execution = past.Plan, past.Stage.Children[0], past.State, past.Execution
	then.Last, then.names, then.event = nil, nil, started{plan: past.Plan}
	then.outputs.decoded = map[plan.NodeID]any{}
	what, err := then.deployments().of(past.Stage)
	if err != nil {
		return expr.Null(), 0, err
	}
	if path[1] == "sidecars" {
		return then.artifacts().sidecar(past.Stage, what, path)
	}
	return then.artifacts().field(past.Stage, what, path, path[1:])
}
