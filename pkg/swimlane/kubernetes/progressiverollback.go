package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// progressiveRollbackType is the step type
// K8sProgressiveCanaryRollback: the pods that the stage's progressive canary
// took over move back, and what it made is deleted
// (semantics/kubernetes §13.4). Where there is no such canary it succeeds and
// changes nothing.
//
// Outputs: output.releaseName. The pods are moved by delegate/kubernetes.
func progressiveRollbackType() step.Type {
	return step.Type{Name: string(OpProgressiveRollback), Deploys: true, New: decodeProgressiveRollback}
}

// progressiveRollback is the step's spec.
type progressiveRollback struct {
	Flags []origin.CommandFlag
}

func decodeProgressiveRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &progressiveRollback{}
	d.Fields(v, document.Keys{
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpProgressiveRollback) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate move the pods back.
func (s *progressiveRollback) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpProgressiveRollback, CommandFlags: s.Flags})
}
