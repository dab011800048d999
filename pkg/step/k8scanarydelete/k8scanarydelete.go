// Package k8scanarydelete is the step type K8sCanaryDelete: what the stage's
// K8sCanaryDeploy made beside the serving workload is deleted
// (semantics/kubernetes §13.2). Where there is no canary it succeeds.
//
// Outputs: output.releaseName. What serves is never touched; what a canary is
// made of is known to delegate/kubernetes.
package k8scanarydelete

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: string(task.OpCanaryDelete), Deploys: true, New: decode}
}

// Spec is the step's spec. It has no fields of its own.
type Spec struct{}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"skipDryRun":        d.Flag(nil),  // real documents carry it; it has no meaning here
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &Spec{}
}

// Start has a delegate delete the canary.
func (*Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpCanaryDelete})
}
