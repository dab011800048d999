package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// phasedDeployType is the step type AsgPhasedDeploy: the group that AsgSetup has made
// gets machines, and the one that served before gets fewer.
//
// Outputs: output.asgName, output.newAsgName, output.oldAsgName,
// output.newInstanceCount and output.oldInstanceCount. Both are resized by
// delegate/asg.
func phasedDeployType() step.Type {
	return step.Type{Name: string(OpPhased), Deploys: true, New: decodePhasedDeploy}
}

// phasedDeploy is the step's spec. A percentage is of the machines that the new group
// is to have in the end.
type phasedDeploy struct {
	Selection aws.Machines
}

func decodePhasedDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &phasedDeploy{}
	d.Fields(v, document.Keys{
		"instanceSelection": func(e yamldoc.Value) { s.Selection.Decode(d, e) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "instanceSelection")
	return s
}

// Start has a delegate resize both groups.
func (s *phasedDeploy) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpPhased, Selection: new(s.Selection.Amount())})
}
