package ecs

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a traffic shift: at the rule of the stage's new service, or at a
// rule of its own.
const (
	shiftInherit    = "Inherit"
	shiftStandalone = "Standalone"
)

// trafficShiftType is the step type EcsBlueGreenTrafficShift: the new service
// gets a part of the traffic, or all of it.
//
// Outputs: output.loadBalancer, output.prodListenerRuleArn and
// output.weights, those of the rule by target group. The rule is changed by
// delegate/ecs.
func trafficShiftType() step.Type {
	return step.Type{Name: string(OpTrafficShift), Deploys: true, New: decodeTrafficShift}
}

// trafficShift is the step's spec.
type trafficShift struct {
	Type   yamldoc.Field[string]
	Weight yamldoc.Field[int] // weightPercentage, of Inherit
	// Of Standalone:
	LoadBalancer yamldoc.Field[string]
	Listener     yamldoc.Field[string]
	Rule         yamldoc.Field[string] // listenerRuleArn
	Forward      []forwarded           // forwardConfig
}

// forwarded is a target group and its weight.
type forwarded struct {
	TargetGroup yamldoc.Field[string]
	Weight      yamldoc.Field[int]
}

func decodeTrafficShift(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &trafficShift{}
	d.Fields(v, document.Keys{
		"ecsTrafficShiftWrapper": func(e yamldoc.Value) { s.wrapper(d, e) },
		"delegateSelectors":      d.Words(nil), // the plan's
	})
	d.Missing(v, "ecsTrafficShiftWrapper")
	return s
}

func (s *trafficShift) wrapper(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&s.Type, shiftInherit, shiftStandalone),
		"spec": func(e yamldoc.Value) {
			switch typ {
			case shiftInherit:
				d.Fields(e, document.Keys{"weightPercentage": func(w yamldoc.Value) {
					if d.Count(&s.Weight)(w); s.Weight.Value > 100 {
						d.Errorf(w, document.WrongValue, "found %d; want a percentage from 0 to 100", s.Weight.Value)
					}
				}})
				d.Need(e, "weightPercentage")
			case shiftStandalone:
				d.Fields(e, document.Keys{
					"loadBalancer":    d.Text(&s.LoadBalancer),
					"listener":        d.Text(&s.Listener),
					"listenerRuleArn": d.Text(&s.Rule),
					"forwardConfig":   func(l yamldoc.Value) { s.Forward = forwards(d, l) },
				})
				d.Need(e, "loadBalancer", "listener", "listenerRuleArn", "forwardConfig")
			}
		},
	})
	d.Need(v, "type", "spec")
}

func forwards(d *document.Decoder, v yamldoc.Value) (list []forwarded) {
	d.Filled(v, document.WrongValue, "found no target groups; want at least one")
	for item := range d.Items(v) {
		var f forwarded
		d.Fields(item, document.Keys{
			"targetGroupArn": d.Text(&f.TargetGroup),
			"weight":         d.Count(&f.Weight),
		})
		d.Need(item, "targetGroupArn", "weight")
		list = append(list, f)
	}
	return list
}

// Start has a delegate shift the traffic.
func (s *trafficShift) Start(in step.In) (step.Action, error) {
	if s.Type.Value == shiftInherit {
		if slices.Contains(in.Siblings, string(OpBlueGreenSwap)) {
			return step.Action{}, fault.New(fault.Invalid, "the stage has a step %s too, which moves all of the traffic; want one of them", OpBlueGreenSwap)
		}
		if s.Weight.Value > 100 {
			return step.Action{}, fault.New(fault.Invalid, "weightPercentage is %d; want 0 to 100", s.Weight.Value)
		}
		return start(in, Spec{Op: OpTrafficShift, Shift: &Shift{Percentage: &s.Weight.Value}})
	}
	how := &Shift{LoadBalancer: step.Text(s.LoadBalancer), Listener: step.Text(s.Listener), Rule: step.Text(s.Rule)}
	for _, f := range s.Forward {
		how.Forward = append(how.Forward, Forward{TargetGroup: step.Text(f.TargetGroup), Weight: f.Weight.Value})
	}
	return start(in, Spec{Op: OpTrafficShift, Shift: how})
}
