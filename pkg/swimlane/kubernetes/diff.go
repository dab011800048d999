package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// diffType is the step type K8sDiff: what the stage's K8sRollingDeploy or
// K8sBlueGreenDeploy would change in the cluster is told, and nothing is
// changed (semantics/kubernetes §15).
//
// Outputs: output.diff, output.changed, output.hasChanges and
// output.releaseName. The comparison is made by the cluster and
// delegate/kubernetes.
func diffType() step.Type {
	return step.Type{Name: string(OpDiff), Deploys: true, New: decodeDiff}
}

// diff is the step's spec. It has no fields of its own.
type diff struct{}

func decodeDiff(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &diff{}
}

// Start has a delegate compare.
func (*diff) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpDiff})
}
