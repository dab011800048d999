package awslambda

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// trafficShiftType is the step type AwsLambdaTrafficShift: a share of the traffic
// of the aliases goes to the version that the stage's AwsLambdaCanaryDeploy has
// published; of 100 percent the aliases point to it alone.
//
// Outputs: output.functionName, output.version and output.trafficPercentage.
func trafficShiftType() step.Type {
	return step.Type{Name: string(OpShift), Deploys: true, New: decodeTrafficShift}
}

// trafficShift is the step's spec.
type trafficShift struct{ Percent yamldoc.Field[int] }

func decodeTrafficShift(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &trafficShift{}
	d.Fields(v, document.Keys{
		"trafficPercentage": func(v yamldoc.Value) {
			if s.Percent = d.Int(v); s.Percent.Set && s.Percent.Expr == "" && (s.Percent.Value < 1 || s.Percent.Value > 100) {
				d.Errorf(v, document.WrongValue, "found %d; want a percentage from 1 to 100", s.Percent.Value)
			}
		},
		"trafficPercent":    d.Idle("it is trafficPercentage that counts", d.Number(nil)),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Need(v, "trafficPercentage")
	return s
}

// Start has a delegate shift traffic.
func (s *trafficShift) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpShift, Percent: s.Percent.Value})
}
