package aws

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Shift is how much traffic goes where: Percentage of it to what the stage has
// made, or as Forward says, at a rule of its own.
type Shift struct {
	Percentage   *int      `json:"percentage,omitempty"`
	LoadBalancer string    `json:"loadBalancer,omitempty"`
	Listener     string    `json:"listener,omitempty"`
	Rule         string    `json:"rule,omitempty"`
	Forward      []Forward `json:"forward,omitempty"`
}

// Forward is a target group and its weight beside others.
type Forward struct {
	TargetGroup string `json:"targetGroup"`
	Weight      int    `json:"weight"`
}

// ShiftedBack is what a stage deploys where, of the deployment types that share the
// step type by which shifts at rules of their own are taken back.
type ShiftedBack interface {
	// ShiftBack has a delegate take them back.
	ShiftBack(in step.In) (step.Action, error)
}

// The types of a traffic shift: at the rules of what the stage has made, or at a
// rule of its own.
const (
	shiftInherit    = "Inherit"
	shiftStandalone = "Standalone"
)

// TrafficShift is a step's wrapper of a traffic shift.
type TrafficShift struct {
	Type   yamldoc.Field[string]
	Weight yamldoc.Field[int] // weightPercentage, of Inherit
	// Of Standalone:
	LoadBalancer yamldoc.Field[string]
	Listener     yamldoc.Field[string]
	Rule         yamldoc.Field[string] // listenerRuleArn
	Forward      []forwarded
}

// forwarded is a target group and its weight.
type forwarded struct {
	TargetGroup yamldoc.Field[string]
	Weight      yamldoc.Field[int]
}

// Decode decodes a type and its spec, in which the listener and the list of target
// groups have those keys.
func (s *TrafficShift) Decode(d *document.Decoder, v yamldoc.Value, listener, forward string) {
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
					"loadBalancer":    d.Text(&s.LoadBalancer),
					listener:          d.Text(&s.Listener),
					"listenerRuleArn": d.Text(&s.Rule),
					forward:           func(l yamldoc.Value) { s.forwards(d, l) },
				})
				d.Need(e, "loadBalancer", listener, "listenerRuleArn", forward)
			}
		},
	})
	d.Need(v, "type", "spec")
}

func (s *TrafficShift) forwards(d *document.Decoder, v yamldoc.Value) {
	d.Filled(v, document.WrongValue, "found no target groups; want at least one")
	for item := range d.Items(v) {
		var f forwarded
		d.Fields(item, document.Keys{"targetGroupArn": d.Text(&f.TargetGroup), "weight": d.Count(&f.Weight)})
		d.Need(item, "targetGroupArn", "weight")
		s.Forward = append(s.Forward, f)
	}
}

// Inherits says whether the rules are those of what the stage has made.
func (s *TrafficShift) Inherits() bool { return s.Type.Value == shiftInherit }

// Shift is what the step says. Its weight may have been an expression.
func (s *TrafficShift) Shift() (*Shift, error) {
	if s.Inherits() {
		if w := s.Weight.Value; w < 0 || w > whole {
			return nil, fault.New(fault.Invalid, "weightPercentage is %d; want 0 to %d", w, whole)
		}
		return &Shift{Percentage: &s.Weight.Value}, nil
	}
	how := &Shift{LoadBalancer: step.Text(s.LoadBalancer), Listener: step.Text(s.Listener), Rule: step.Text(s.Rule)}
	for _, f := range s.Forward {
		how.Forward = append(how.Forward, Forward{TargetGroup: step.Text(f.TargetGroup), Weight: f.Weight.Value})
	}
	return how, nil
}
