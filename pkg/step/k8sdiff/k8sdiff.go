// Package k8sdiff is the step type K8sDiff: what the stage's K8sRollingDeploy
// or K8sBlueGreenDeploy would change in the cluster is told, and nothing is
// changed (semantics/kubernetes §15).
//
// Outputs: output.diff, output.changed, output.hasChanges and
// output.releaseName. The comparison is made by the cluster and
// delegate/kubernetes.
package k8sdiff

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpDiff), Deploys: true, New: decode} }

// Spec is the step's spec. It has no fields of its own.
type Spec struct{}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &Spec{}
}

// Start has a delegate compare.
func (*Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpDiff})
}
