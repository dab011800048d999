package asg

import (
	"cmp"
	"reflect"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
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
	Selection  aws.Machines
	SkipSteady yamldoc.Field[bool]
	// What isn't said is the infrastructure's.
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
}

func decodeScale(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &scale{}
	d.Fields(v, document.Keys{
		"asgName":              d.Text(&s.Name),
		"instanceSelection":    func(e yamldoc.Value) { s.Selection.Decode(d, e) },
		"skipSteadyStateCheck": d.Flag(&s.SkipSteady),
		"connectorRef":         d.Reference(ref.Connector, &s.ConnectorRef),
		"region":               d.Text(&s.Region),
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	d.Missing(v, "instanceSelection")
	return s
}

// Start has a delegate scale the group.
func (s *scale) Start(in step.In) (step.Action, error) {
	stages, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	target, err := s.target(in, *stages)
	if err != nil {
		return step.Action{}, err
	}
	return startAt(in, target, Spec{
		Op: OpScale, Name: step.Text(s.Name), Selection: new(s.Selection.Amount()), SkipSteady: s.SkipSteady.Value,
		Elsewhere: !reflect.DeepEqual(target.AWS, stages.AWS),
	})
}

// target is where the group is: what the step doesn't say is the stage's.
func (s *scale) target(in step.In, t Target) (Target, error) {
	region := cmp.Or(step.Text(s.Region), t.AWS.Region)
	t.AWS.Region = region
	connector := step.Text(s.ConnectorRef)
	if connector == "" {
		return t, nil
	}
	var err error
	t.AWS, t.Selectors, err = in.AWS(connector, region)
	return t, err
}
