package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// canaryDeleteType is the step type EcsCanaryDelete: the service that
// EcsCanaryDeploy has made is deleted, and its tasks end. Where there is none it
// succeeds and changes nothing.
//
// Outputs: output.canaryServiceName. It is done by delegate/ecs; the service that
// serves is never touched.
func canaryDeleteType() step.Type {
	return step.Type{Name: string(OpCanaryDelete), Deploys: true, New: decodeCanaryDelete}
}

// canaryDelete is the step's spec: all that it says is which delegates may do it.
type canaryDelete struct{}

func decodeCanaryDelete(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &canaryDelete{}
}

// Start has a delegate delete the canary.
func (*canaryDelete) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpCanaryDelete})
}
