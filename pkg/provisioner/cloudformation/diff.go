package cloudformation

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Diff is the step type that a preview has in place of CreateStack: it tells how
// the stack's resources would change, and changes none. No pipeline names it.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is
// made by delegate/cloudformation.
func Diff() step.Type { return step.Type{Name: string(OpDiff), New: decodeDiff} }

// diff is the step's spec: that of the step in whose place it stands.
type diff struct{ create }

func decodeDiff(d *document.Decoder, v yamldoc.Value) step.Spec { return &diff{*readCreate(d, v)} }

// Start has a delegate compare.
func (s *diff) Start(in step.In) (step.Action, error) {
	if _, err := provisioner.Of(s.Identifier); err != nil {
		return step.Action{}, err
	}
	c, err := s.wanted(in)
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpDiff, Create: c}, s.place(), nil)
}
