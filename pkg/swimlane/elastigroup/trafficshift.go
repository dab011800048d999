package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// trafficShiftType is the step type ElastigroupBlueGreenTrafficShift: the new group
// gets a part of the traffic, or all of it.
//
// Outputs: output.weights, those of the last rule by target group, and, of the type
// Inherit, those of ElastigroupBGStageSetup. It is done by delegate/elastigroup.
func trafficShiftType() step.Type {
	return step.Type{Name: string(OpTrafficShift), Deploys: true, New: decodeTrafficShift}
}

// trafficShift is the step's spec.
type trafficShift struct{ aws.TrafficShift }

func decodeTrafficShift(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &trafficShift{}
	d.Fields(v, document.Keys{
		"elastigroupTrafficShiftWrapper": func(e yamldoc.Value) { s.Decode(d, e, "listenerArn", "forwardTrafficConfig") },
		"delegateSelectors":              d.Words(nil), // the plan's
	})
	d.Missing(v, "elastigroupTrafficShiftWrapper")
	return s
}

// Start has a delegate shift the traffic.
func (s *trafficShift) Start(in step.In) (step.Action, error) {
	how, err := s.Shift()
	if err != nil {
		return step.Action{}, err
	}
	return coloured(in, Spec{Op: OpTrafficShift, Shift: how})
}
