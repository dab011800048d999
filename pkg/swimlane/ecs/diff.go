package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Diff is the step type that a preview has in place of EcsRollingDeploy: it tells
// how task definition, service and scaling would change, and changes nothing. No
// pipeline names it.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is
// made by delegate/ecs.
func Diff() step.Type {
	return step.Type{Name: string(OpDiff), Deploys: true, New: decodeDiff}
}

// diff is the step's spec: it has nothing to say.
type diff struct{}

func decodeDiff(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{})
	return &diff{}
}

// Start has a delegate compare.
func (*diff) Start(in step.In) (step.Action, error) { return start(in, Spec{Op: OpDiff}) }
