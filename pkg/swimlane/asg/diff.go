package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Diffs are the step types that a preview has in place of those that deploy: they
// tell how launch template, group, policies and schedules would change, and change
// nothing. No pipeline names them.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is
// made by delegate/asg.
func Diffs() []step.Type {
	return []step.Type{
		{Name: string(OpDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return rollingDiff{decodeRollingDeploy(d, v)}
		}},
		{Name: string(OpCanaryDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			s := canaryDiff{}
			d.Fields(v, document.Keys{"asgName": d.Text(&s.Name)})
			return &s
		}},
		{Name: string(OpBlueGreenDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return blueGreenDiff{decodeBlueGreenDeploy(d, v)}
		}},
		{Name: string(OpSetupDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return setupDiff{decodeSetup(d, v)}
		}},
	}
}

// The specs are those of the steps that deploy, or what of them says which group it
// is.
type (
	rollingDiff   struct{ *rollingDeploy }
	canaryDiff    struct{ Name yamldoc.Field[string] }
	blueGreenDiff struct{ *blueGreenDeploy }
	setupDiff     struct{ *setup }
)

// Start has a delegate compare.
func (s rollingDiff) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpDiff, Name: step.Text(s.Name), Size: s.Instances.size()})
}

// Start has a delegate compare.
func (s *canaryDiff) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpCanaryDiff, Name: step.Text(s.Name)})
}

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
