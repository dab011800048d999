package ecs

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// trafficShiftType is the step type EcsBlueGreenTrafficShift: the new service
// gets a part of the traffic, or all of it.
//
// Outputs: output.loadBalancer, output.prodListenerRuleArn and
// output.weights, those of the rule by target group. The rule is changed by
// delegate/ecs.
func trafficShiftType() step.Type {
	return step.Type{Name: string(OpTrafficShift), Deploys: true, New: decodeTrafficShift, Moves: func(s step.Spec) bool {
		shift, ok := s.(*trafficShift)
		return ok && shift.Inherits()
	}}
}

// trafficShift is the step's spec.
type trafficShift struct{ aws.TrafficShift }

func decodeTrafficShift(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &trafficShift{}
	d.Fields(v, document.Keys{
		"ecsTrafficShiftWrapper": func(e yamldoc.Value) { s.Decode(d, e, "listener", "forwardConfig") },
		"delegateSelectors":      d.Words(nil), // the plan's
	})
	d.Missing(v, "ecsTrafficShiftWrapper")
	return s
}

// Start has a delegate shift the traffic.
func (s *trafficShift) Start(in step.In) (step.Action, error) {
	if s.Inherits() && slices.Contains(in.Siblings, string(OpBlueGreenSwap)) {
		return step.Action{}, fault.New(fault.Invalid, "the stage has a step %s too, which moves all of the traffic; want one of them", OpBlueGreenSwap)
	}
	how, err := s.Shift()
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpTrafficShift, Shift: how})
}
