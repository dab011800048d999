package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenRollbackType is the step type EcsBlueGreenRollback: the service that
// had the traffic has all of its tasks again, then the traffic, and the new
// service has no tasks any more. Where the stage changed nothing it succeeds and
// changes nothing.
//
// Outputs: output.serviceName. It goes by the checkpoints of the stage alone,
// which delegate/ecs keeps.
func blueGreenRollbackType() step.Type {
	return step.Type{Name: string(OpBlueGreenRollback), Deploys: true, New: decodeUndo(OpBlueGreenRollback)}
}

// shiftRollbackType is the step type StandAloneTrafficShiftRollback: the rules
// whose weights the stage has changed by themselves are as they were.
//
// It has no outputs. It goes by the checkpoints of the stage alone, which
// delegate/ecs keeps.
func shiftRollbackType() step.Type {
	return step.Type{Name: string(OpShiftRollback), Deploys: true, New: decodeUndo(OpShiftRollback)}
}

// undo is the spec of a step that takes back what its stage did: all that it says
// is which delegates may do it.
type undo struct{ op Op }

func decodeUndo(op Op) func(*document.Decoder, yamldoc.Value) step.Spec {
	return func(d *document.Decoder, v yamldoc.Value) step.Spec {
		d.Fields(v, document.Keys{
			"delegateSelectors": d.Words(nil), // the plan's
		})
		return undo{op}
	}
}

// Start has a delegate roll back.
func (s undo) Start(in step.In) (step.Action, error) { return start(in, Spec{Op: s.op}) }
