// Package k8sprogressivecanaryrollback is the step type
// K8sProgressiveCanaryRollback: the pods that the stage's progressive canary
// took over move back, and what it made is deleted
// (semantics/kubernetes §13.4). Where there is no such canary it succeeds and
// changes nothing.
//
// Outputs: output.releaseName. The pods are moved by delegate/kubernetes.
package k8sprogressivecanaryrollback

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: string(task.OpProgressiveRollback), Deploys: true, New: decode}
}

// Spec is the step's spec.
type Spec struct {
	Flags []task.CommandFlag
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"commandFlags":      func(e yamldoc.Value) { s.Flags = kubernetes.Flags(d, e, task.OpProgressiveRollback) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate move the pods back.
func (s *Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpProgressiveRollback, CommandFlags: s.Flags})
}
