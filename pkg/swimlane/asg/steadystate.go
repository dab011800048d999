package asg

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// steadyStateType is the step type AsgSteadyState: it waits until the newest
// instance refresh of a group has succeeded, and changes nothing.
//
// Outputs: output.asgName, output.asgArn, output.region, output.instanceRefreshId,
// output.min, output.max and output.desired. It is looked at by delegate/asg.
func steadyStateType() step.Type {
	return step.Type{Name: string(OpSteadyState), Deploys: true, New: decodeSteadyState}
}

// How often it is looked, and how often at most.
const (
	lookEvery  = 30 * time.Second
	lookSeldom = 10 * time.Second
)

// steadyState is the step's spec.
type steadyState struct {
	Name yamldoc.Field[string]        // asgName
	Poll yamldoc.Field[time.Duration] // pollingInterval
}

func decodeSteadyState(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &steadyState{}
	d.Fields(v, document.Keys{
		"asgName": d.Text(&s.Name),
		"pollingInterval": func(e yamldoc.Value) {
			if s.Poll = d.Duration(e); s.Poll.Set && s.Poll.Expr == "" && s.Poll.Value < lookSeldom {
				d.Errorf(e, document.WrongValue, "found %s; want %s at least", s.Poll.Value, lookSeldom)
			}
		},
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate wait.
func (s *steadyState) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpSteadyState, Name: step.Text(s.Name), Poll: int(s.Poll.Or(lookEvery) / time.Second)})
}
