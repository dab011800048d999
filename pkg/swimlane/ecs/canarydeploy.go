package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// canaryDeployType is the step type EcsCanaryDeploy: one task of what is to be
// deployed, as a service of its own beside the one that serves. EcsCanaryDelete
// deletes it.
//
// Outputs: those of EcsRollingDeploy, and output.canaryServiceName. The
// deployment itself is done by delegate/ecs.
func canaryDeployType() step.Type {
	return step.Type{Name: string(OpCanary), Deploys: true, New: decodeCanaryDeploy}
}

// canaryDeploy is the step's spec: all that it says is which delegates may do it.
type canaryDeploy struct{}

func decodeCanaryDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &canaryDeploy{}
}

// Start has a delegate deploy the canary.
func (*canaryDeploy) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpCanary})
}
