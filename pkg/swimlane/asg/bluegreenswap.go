package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenSwapType is the step type AsgBlueGreenSwapService: the rules of
// production and of the stage exchange their target groups, so that the new group
// has the traffic.
//
// Outputs: output.asgName, output.newAsgName and output.oldAsgName. The rules are
// changed by delegate/asg.
func blueGreenSwapType() step.Type {
	return step.Type{Name: string(OpBlueGreenSwap), Deploys: true, New: decodeBlueGreenSwap}
}

// blueGreenSwap is the step's spec.
type blueGreenSwap struct {
	Downsize yamldoc.Field[bool] // downsizeOldAsg
}

func decodeBlueGreenSwap(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &blueGreenSwap{}
	d.Fields(v, document.Keys{
		"downsizeOldAsg":    d.Flag(&s.Downsize),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "downsizeOldAsg")
	return s
}

// Start has a delegate swap the target groups.
func (s *blueGreenSwap) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpBlueGreenSwap, Traffic: &Traffic{Weight: whole, Downsize: s.Downsize.Value}})
}
