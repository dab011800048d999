package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// stageScaleDownType is the step type
// K8sBlueGreenStageScaleDown: the colour that users don't see has no instances
// any more (semantics/kubernetes §14.4).
//
// Outputs: output.releaseName. Which colour that is, is found in the cluster
// by delegate/kubernetes; the one that serves is never touched.
func stageScaleDownType() step.Type {
	return step.Type{Name: string(OpStageScaleDown), Deploys: true, New: decodeStageScaleDown}
}

// stageScaleDown is the step's spec. It has no fields of its own.
type stageScaleDown struct{}

func decodeStageScaleDown(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &stageScaleDown{}
}

// Start has a delegate scale the colour down.
func (*stageScaleDown) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpStageScaleDown})
}
