package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollingRollbackType is the step type EcsRollingRollback: the service and what
// scales it are again as they were before the stage deployed. One that the stage
// has made is scaled down to nothing. Where the stage changed nothing it
// succeeds and changes nothing.
//
// Outputs: those of EcsRollingDeploy. It goes by the checkpoints of the stage
// alone, which delegate/ecs keeps.
func rollingRollbackType() step.Type {
	return step.Type{Name: string(OpRollingRollback), Deploys: true, New: decodeRollingRollback}
}

// rollingRollback is the step's spec: all that it says is which delegates may do it.
type rollingRollback struct{}

func decodeRollingRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &rollingRollback{}
}

// Start has a delegate roll back.
func (*rollingRollback) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpRollingRollback})
}
