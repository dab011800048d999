package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// scaleType is the step type AsgScale: a group gets another number of machines,
// within its bounds.
//
// Outputs: output.asgName, output.asgArn, output.region, output.min, output.max,
// output.desired and output.previousDesired. The group is scaled by delegate/asg.
func scaleType() step.Type {
	return step.Type{Name: string(OpScale), Deploys: true, New: decodeScale}
}

// scale is the step's spec. A percentage is of the machines that the group should
// have now.
type scale struct {
	Name       yamldoc.Field[string] // asgName
	Selection  selection
	SkipSteady yamldoc.Field[bool]
}

func decodeScale(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &scale{}
	d.Fields(v, document.Keys{
		"asgName":              d.Text(&s.Name),
		"instanceSelection":    func(e yamldoc.Value) { s.Selection.decode(d, e) },
		"skipSteadyStateCheck": d.Flag(&s.SkipSteady),
		"connectorRef":         d.Refuse("another connector than that of the infrastructure isn't supported"),
		"region":               d.Refuse("another region than that of the infrastructure isn't supported"),
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	d.Missing(v, "instanceSelection")
	return s
}

// Start has a delegate scale the group.
func (s *scale) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpScale, Name: step.Text(s.Name), Selection: s.Selection.of(), SkipSteady: s.SkipSteady.Value})
}
