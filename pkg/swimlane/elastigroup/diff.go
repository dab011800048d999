package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Diffs are the step types that a preview has in place of those that make a group:
// they tell how it would differ from the one that serves, and change nothing. No
// pipeline names them.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is
// made by delegate/elastigroup.
func Diffs() []step.Type {
	return []step.Type{
		{Name: string(OpDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return setupDiff{decodeSetup(d, v)}
		}},
		{Name: string(OpStageDiff), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
			return stageSetupDiff{decodeStageSetup(d, v)}
		}},
	}
}

// The specs are those of the steps that make a group.
type (
	setupDiff      struct{ *setup }
	stageSetupDiff struct{ *stageSetup }
)

// Start has a delegate compare.
func (s setupDiff) Start(in step.In) (step.Action, error) { return s.begin(in, OpDiff) }

// Start has a delegate compare.
func (s stageSetupDiff) Start(in step.In) (step.Action, error) { return s.begin(in, OpStageDiff) }
