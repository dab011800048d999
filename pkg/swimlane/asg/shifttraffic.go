package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// whole is all of the traffic, in percent.
const whole = 100

// shiftTrafficType is the step type AsgShiftTraffic: the new group gets a part of
// the traffic, by the weights of production's rule, or all of it.
//
// Outputs: output.asgName, output.newAsgName, output.oldAsgName and output.weights,
// those of the rules by target group. The rules are changed by delegate/asg.
func shiftTrafficType() step.Type {
	return step.Type{Name: string(OpShiftTraffic), Deploys: true, New: decodeShiftTraffic}
}

// shiftTraffic is the step's spec.
type shiftTraffic struct {
	Weight   yamldoc.Field[int]
	Downsize yamldoc.Field[bool] // downsizeOldAsg
}

func decodeShiftTraffic(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &shiftTraffic{}
	d.Fields(v, document.Keys{
		"weight":            within(d, &s.Weight, 0, whole),
		"downsizeOldAsg":    d.Flag(&s.Downsize),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "weight", "downsizeOldAsg")
	if s.Weight.Set && s.Weight.Expr == "" && s.Weight.Value < whole && s.Downsize.Value {
		d.Errorf(document.Child(v, "downsizeOldAsg"), document.WrongValue, "found true with the weight %d; want it only where all traffic is shifted: the old group still has some", s.Weight.Value)
	}
	return s
}

// Start has a delegate shift the traffic.
func (s *shiftTraffic) Start(in step.In) (step.Action, error) {
	switch w := s.Weight.Value; {
	case w < 0 || w > whole:
		return step.Action{}, fault.New(fault.Invalid, "weight is %d; want 0 to %d", w, whole)
	case w < whole && s.Downsize.Value:
		return step.Action{}, fault.New(fault.Invalid, "downsizeOldAsg is true and weight %d; want true only where all traffic is shifted: the old group still has some", w)
	}
	return start(in, Spec{Op: OpShiftTraffic, Traffic: &Traffic{Weight: s.Weight.Value, Downsize: s.Downsize.Value}})
}
