package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a traffic shift: at the rules of the stage's new group, or at a rule
// of its own.
const (
	shiftInherit    = "Inherit"
	shiftStandalone = "Standalone"
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
type trafficShift struct {
	Type   yamldoc.Field[string]
	Weight yamldoc.Field[int] // weightPercentage, of Inherit
	// Of Standalone:
	LoadBalancer yamldoc.Field[string]
	Listener     yamldoc.Field[string] // listenerArn
	Rule         yamldoc.Field[string] // listenerRuleArn
	Forward      []forwarded           // forwardTrafficConfig
}

// forwarded is a target group and its weight.
type forwarded struct {
	TargetGroup yamldoc.Field[string]
	Weight      yamldoc.Field[int]
}

func decodeTrafficShift(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &trafficShift{}
	d.Fields(v, document.Keys{
		"elastigroupTrafficShiftWrapper": func(e yamldoc.Value) { s.wrapper(d, e) },
		"delegateSelectors":              d.Words(nil), // the plan's
	})
	d.Missing(v, "elastigroupTrafficShiftWrapper")
	return s
}

func (s *trafficShift) wrapper(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&s.Type, shiftInherit, shiftStandalone),
		"spec": func(e yamldoc.Value) {
			switch typ {
			case shiftInherit:
				d.Fields(e, document.Keys{"weightPercentage": percent(d, &s.Weight)})
				d.Need(e, "weightPercentage")
			case shiftStandalone:
				d.Fields(e, document.Keys{
					"loadBalancer":         d.Text(&s.LoadBalancer),
					"listenerArn":          d.Text(&s.Listener),
					"listenerRuleArn":      d.Text(&s.Rule),
					"forwardTrafficConfig": func(l yamldoc.Value) { s.forwards(d, l) },
				})
				d.Need(e, "loadBalancer", "listenerArn", "listenerRuleArn", "forwardTrafficConfig")
			}
		},
	})
	d.Need(v, "type", "spec")
}

func (s *trafficShift) forwards(d *document.Decoder, v yamldoc.Value) {
	d.Filled(v, document.WrongValue, "found no target groups; want at least one")
	for item := range d.Items(v) {
		var f forwarded
		d.Fields(item, document.Keys{"targetGroupArn": d.Text(&f.TargetGroup), "weight": d.Count(&f.Weight)})
		d.Need(item, "targetGroupArn", "weight")
		s.Forward = append(s.Forward, f)
	}
}

// Start has a delegate shift the traffic.
func (s *trafficShift) Start(in step.In) (step.Action, error) {
	if s.Type.Value == shiftInherit {
		return coloured(in, Spec{Op: OpTrafficShift, Shift: &Shift{Percentage: &s.Weight.Value}})
	}
	how := &Shift{LoadBalancer: step.Text(s.LoadBalancer), Listener: step.Text(s.Listener), Rule: step.Text(s.Rule)}
	for _, f := range s.Forward {
		how.Forward = append(how.Forward, Forward{TargetGroup: step.Text(f.TargetGroup), Weight: f.Weight.Value})
	}
	return coloured(in, Spec{Op: OpTrafficShift, Shift: how})
}
