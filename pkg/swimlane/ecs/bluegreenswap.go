package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenSwapType is the step type EcsBlueGreenSwapTargetGroups: the rules of
// the two listeners exchange their target groups, so that the new service has the
// traffic, and the old one gets no tasks any more.
//
// Outputs: those of EcsBlueGreenCreateService. The rules are changed by
// delegate/ecs.
func blueGreenSwapType() step.Type {
	return step.Type{Name: string(OpBlueGreenSwap), Deploys: true, New: decodeBlueGreenSwap, Moves: func(step.Spec) bool { return true }}
}

// blueGreenSwap is the step's spec.
type blueGreenSwap struct {
	KeepOld yamldoc.Field[bool] // doNotDownsizeOldService
	Delay   yamldoc.Field[int]  // downsizeOldServiceDelayInSecs
}

func decodeBlueGreenSwap(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &blueGreenSwap{}
	d.Fields(v, document.Keys{
		"doNotDownsizeOldService":       d.Flag(&s.KeepOld),
		"downsizeOldServiceDelayInSecs": d.Count(&s.Delay),
		"delegateSelectors":             d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate swap the target groups.
func (s *blueGreenSwap) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpBlueGreenSwap, Swap: &Swap{KeepOld: s.KeepOld.Value, Delay: s.Delay.Value}})
}
