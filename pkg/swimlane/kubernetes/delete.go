package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deletionType is the step type K8sDelete: objects are deleted that are named,
// that are in manifest files, or that a release has made
// (semantics/kubernetes §15).
//
// Outputs: output.releaseName. The deletion is done by delegate/kubernetes; no
// rollback brings back what is gone.
func deletionType() step.Type {
	return step.Type{Name: string(OpDelete), Deploys: true, New: decodeDeletion}
}

// deletion is the step's spec.
type deletion struct {
	Delete ResourceSelection
	Flags  []origin.CommandFlag
}

func decodeDeletion(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &deletion{}
	d.Fields(v, document.Keys{
		"deleteResources":   func(e yamldoc.Value) { s.Delete = resources(d, e, true) },
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpDelete) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "deleteResources")
	return s
}

// Start has a delegate delete the objects.
func (s *deletion) Start(in step.In) (step.Action, error) {
	d := s.Delete
	if err := checkResources(d, "deleteResources"); err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpDelete, Delete: &d, CommandFlags: s.Flags})
}
