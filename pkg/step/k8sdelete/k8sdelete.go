// Package k8sdelete is the step type K8sDelete: objects are deleted that are
// named, that are in manifest files, or that a release has made
// (semantics/kubernetes §15).
//
// Outputs: output.releaseName. The deletion is done by delegate/kubernetes; no
// rollback brings back what is gone.
package k8sdelete

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpDelete), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	Delete task.ResourceSelection
	Flags  []task.CommandFlag
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"deleteResources":   func(e yamldoc.Value) { s.Delete = kubernetes.Resources(d, e, true) },
		"commandFlags":      func(e yamldoc.Value) { s.Flags = kubernetes.Flags(d, e, task.OpDelete) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "deleteResources")
	return s
}

// Start has a delegate delete the objects.
func (s *Spec) Start(in step.In) (step.Action, error) {
	d := s.Delete
	if err := kubernetes.CheckResources(d, "deleteResources"); err != nil {
		return step.Action{}, err
	}
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpDelete, Delete: &d, CommandFlags: s.Flags})
}
