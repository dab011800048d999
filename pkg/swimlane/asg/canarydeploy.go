package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// canaryDeployType is the step type AsgCanaryDeploy: some machines of what is to be
// deployed, as a group of their own beside the one that serves. AsgCanaryDelete
// deletes it.
//
// Outputs: those of AsgRollingDeploy, of the canary. The deployment itself is done by
// delegate/asg.
func canaryDeployType() step.Type {
	return previewed(step.Type{Name: string(OpCanary), Deploys: true, New: decodeCanaryDeploy}, OpCanaryDiff, 1, "asgName")
}

// canaryDeploy is the step's spec. A percentage is of the machines that the
// configuration says.
type canaryDeploy struct {
	Name      yamldoc.Field[string] // asgName, of the group that serves
	Selection aws.Machines
}

func decodeCanaryDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &canaryDeploy{}
	d.Fields(v, document.Keys{
		"asgName":           d.Text(&s.Name),
		"instanceSelection": func(e yamldoc.Value) { s.Selection.Decode(d, e) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "instanceSelection")
	return s
}

// Start has a delegate deploy the canary.
func (s *canaryDeploy) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpCanary, Name: step.Text(s.Name), Selection: new(s.Selection.Amount())})
}
