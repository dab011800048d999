package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// basicRollbackType is the step type EcsBasicRollback: the service that served
// before EcsServiceSetup has its tasks again, and what scales it; the one that that
// step has made is deleted. Where it made none it succeeds and changes nothing.
//
// Outputs: output.newServiceName and output.oldServiceName. It goes by the
// checkpoints of the stage alone, which delegate/ecs keeps.
func basicRollbackType() step.Type {
	return step.Type{Name: string(OpBasicRollback), Deploys: true, New: decodeBasicRollback}
}

// basicRollback is the step's spec: all that it says is which delegates may do it.
type basicRollback struct{}

func decodeBasicRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &basicRollback{}
}

// Start has a delegate roll back.
func (*basicRollback) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpBasicRollback})
}
