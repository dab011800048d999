// Package k8sbluegreenstagescaledown is the step type
// K8sBlueGreenStageScaleDown: the colour that users don't see has no instances
// any more (semantics/kubernetes §14.4).
//
// Outputs: output.releaseName. Which colour that is, is found in the cluster
// by delegate/kubernetes; the one that serves is never touched.
package k8sbluegreenstagescaledown

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: string(task.OpStageScaleDown), Deploys: true, New: decode}
}

// Spec is the step's spec. It has no fields of its own.
type Spec struct{}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &Spec{}
}

// Start has a delegate scale the colour down.
func (*Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpStageScaleDown})
}
