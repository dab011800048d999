package ecs

import (
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// blueGreenRollbackType is the step type EcsBlueGreenRollback: the service that
// had the traffic has all of its tasks again, then the traffic, and the new
// service has no tasks any more. Where the stage changed nothing it succeeds and
// changes nothing.
//
// Outputs: output.serviceName. It goes by the checkpoints of the stage alone,
// which delegate/ecs keeps.
func blueGreenRollbackType() step.Type { return fieldless(OpBlueGreenRollback) }

// shiftRollbackType is the step type StandAloneTrafficShiftRollback: the rules
// whose weights the stage has changed by themselves are as they were. It stands in
// stages of other deployment types, too.
//
// It has no outputs. It goes by the checkpoints of the stage alone, which
// the delegate of its deployment type keeps.
func shiftRollbackType() step.Type {
	return step.Type{Name: string(OpShiftRollback), Deploys: true}.Fieldless(func(in step.In) (step.Action, error) {
		target, err := step.TargetOf[aws.ShiftedBack](in)
		if err != nil {
			return step.Action{}, err
		}
		return target.ShiftBack(in)
	})
}

// ShiftBack has a delegate take back the shifts of a stage (aws.ShiftedBack).
func (t *Target) ShiftBack(in step.In) (step.Action, error) {
	return startAt(in, *t, Spec{Op: OpShiftRollback})
}
