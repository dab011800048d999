package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Diffs are the step types that a preview has in place of those that deploy: they
// tell how task definition, service and scaling would change, and change nothing. No
// pipeline names them.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is
// made by delegate/ecs.
func Diffs() []step.Type {
	return []step.Type{
		{Name: string(OpDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return rollingDiff{decodeRollingDeploy(d, v)}
		}},
		fieldless(OpCanaryDiff),
		{Name: string(OpBlueGreenDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return blueGreenDiff{decodeBlueGreenCreate(d, v)}
		}},
		{Name: string(OpSetupDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return setupDiff{decodeServiceSetup(d, v)}
		}},
	}
}

// The specs are those of the steps that deploy.
type (
	rollingDiff   struct{ *rollingDeploy }
	blueGreenDiff struct{ *blueGreenCreate }
	setupDiff     struct{ *serviceSetup }
)

// Start has a delegate compare.
func (s rollingDiff) Start(in step.In) (step.Action, error) { return s.start(in, OpDiff) }

// Start has a delegate compare.
func (s blueGreenDiff) Start(in step.In) (step.Action, error) { return s.start(in, OpBlueGreenDiff) }

// Start has a delegate compare.
func (s setupDiff) Start(in step.In) (step.Action, error) { return s.start(in, OpSetupDiff) }

// previewed is a step type whose changes can be seen before, by another that has
// these of its keys; part is as step.Preview has it.
func previewed(t step.Type, by Op, part int, keys ...string) step.Type {
	t.Preview = &step.Preview{By: string(by), Part: part, Keys: keys}
	return t
}
