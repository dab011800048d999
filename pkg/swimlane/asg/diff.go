package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Diff is the step type that a preview has in place of AsgRollingDeploy: it tells how
// launch template, group, policies and schedules would change, and changes nothing.
// No pipeline names it.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is
// made by delegate/asg.
func Diff() step.Type {
	return step.Type{Name: string(OpDiff), Deploys: true, New: decodeDiff}
}

// diff is the step's spec: what of AsgRollingDeploy says which group it is, and how
// large.
type diff struct {
	Name      yamldoc.Field[string] // asgName
	Instances instances
}

func decodeDiff(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &diff{}
	d.Fields(v, document.Merge(s.Instances.keys(d), document.Keys{"asgName": d.Text(&s.Name)}))
	return s
}

// Start has a delegate compare.
func (s *diff) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpDiff, Name: step.Text(s.Name), Size: s.Instances.size()})
}
