package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// In which order the two groups of a stage change their sizes.
const (
	ResizeNewFirst   = "resize_new_first"
	DownsizeOldFirst = "downsize_old_first"
)

// setupType is the step type AsgSetup: what is to be deployed becomes a group of its
// own beside the one that serves, without machines yet. AsgPhasedDeploy then moves
// machines from one to the other.
//
// Outputs: those of AsgRollingDeploy, of the new group, output.newAsgName,
// output.oldAsgName and output.targetCount. The group is made by delegate/asg.
func setupType() step.Type {
	t := step.Type{Name: string(OpSetup), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeSetup(d, v) }}
	return previewed(t, OpSetupDiff, 0, "asgName", "instances", "resizeStrategy")
}

// setup is the step's spec.
type setup struct {
	Name      yamldoc.Field[string] // asgName
	Instances instances
	Strategy  yamldoc.Field[string] // resizeStrategy
}

func decodeSetup(d *document.Decoder, v yamldoc.Value) *setup {
	s := &setup{}
	d.Fields(v, document.Keys{
		"asgName":           d.Text(&s.Name),
		"instances":         func(e yamldoc.Value) { s.Instances.Decode(d, e) },
		"resizeStrategy":    d.Word(&s.Strategy, ResizeNewFirst, DownsizeOldFirst),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "asgName", "instances", "resizeStrategy")
	return s
}

// Start has a delegate make the group.
func (s *setup) Start(in step.In) (step.Action, error) { return s.start(in, OpSetup) }

func (s *setup) start(in step.In, op Op) (step.Action, error) {
	if step.Text(s.Name) == "" {
		return step.Action{}, fault.New(fault.Invalid, "asgName is empty")
	}
	return start(in, Spec{Op: op, Name: step.Text(s.Name), Size: s.Instances.size(), Resize: s.Strategy.Or(ResizeNewFirst)})
}
