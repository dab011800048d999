package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// canaryDeleteType is the step type K8sCanaryDelete: what the stage's
// K8sCanaryDeploy made beside the serving workload is deleted
// (semantics/kubernetes §13.2). Where there is no canary it succeeds.
//
// Outputs: output.releaseName. What serves is never touched; what a canary is
// made of is known to delegate/kubernetes.
func canaryDeleteType() step.Type {
	return step.Type{Name: string(OpCanaryDelete), Deploys: true, New: decodeCanaryDelete}
}

// canaryDelete is the step's spec. It has no fields of its own.
type canaryDelete struct{}

func decodeCanaryDelete(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"skipDryRun":        d.Flag(nil),  // real documents carry it; it has no meaning here
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &canaryDelete{}
}

// Start has a delegate delete the canary.
func (*canaryDelete) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpCanaryDelete})
}
