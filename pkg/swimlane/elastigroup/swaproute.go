package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// swapRouteType is the step type ElastigroupSwapRoute: the rules of the two
// listeners exchange their target groups, so that the new group has the traffic,
// and both groups exchange their names.
//
// Outputs: those of ElastigroupBGStageSetup. It is done by delegate/elastigroup.
func swapRouteType() step.Type {
	return step.Type{Name: string(OpSwapRoute), Deploys: true, New: decodeSwapRoute}
}

// swapRoute is the step's spec.
type swapRoute struct{ Downsize yamldoc.Field[bool] }

func decodeSwapRoute(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &swapRoute{}
	d.Fields(v, document.Keys{
		"downsizeOldElastigroup": d.Flag(&s.Downsize),
		"delegateSelectors":      d.Words(nil), // the plan's
	})
	d.Missing(v, "downsizeOldElastigroup")
	return s
}

// Start has a delegate swap the routes.
func (s *swapRoute) Start(in step.In) (step.Action, error) {
	return coloured(in, Spec{Op: OpSwapRoute, Downsize: s.Downsize.Value})
}

// coloured makes a task that works with what the stage's ElastigroupBGStageSetup
// has made, and reaches the load balancers as that does.
func coloured(in step.In, spec Spec) (step.Action, error) {
	made, err := in.Others(string(OpStageSetup))
	if err != nil {
		return step.Action{}, err
	}
	for _, one := range made {
		if s, ok := one.(*stageSetup); ok {
			return s.start(in, spec)
		}
	}
	if spec.Op == OpRollback || spec.Op == OpShiftRollback {
		return start(in, spec)
	}
	return step.Action{}, fault.New(fault.Invalid, "the stage has no step %s, by whose connectedCloudProvider the load balancers are reached", OpStageSetup).Causing(fault.ConfigurationFailure)
}
