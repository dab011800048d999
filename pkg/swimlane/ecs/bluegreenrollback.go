package ecs

import "github.com/slipway-cd/slipway/pkg/step"

// blueGreenRollbackType is the step type EcsBlueGreenRollback: the service that
// had the traffic has all of its tasks again, then the traffic, and the new
// service has no tasks any more. Where the stage changed nothing it succeeds and
// changes nothing.
//
// Outputs: output.serviceName. It goes by the checkpoints of the stage alone,
// which delegate/ecs keeps.
func blueGreenRollbackType() step.Type { return fieldless(OpBlueGreenRollback) }

// shiftRollbackType is the step type StandAloneTrafficShiftRollback: the rules
// whose weights the stage has changed by themselves are as they were.
//
// It has no outputs. It goes by the checkpoints of the stage alone, which
// delegate/ecs keeps.
func shiftRollbackType() step.Type { return fieldless(OpShiftRollback) }
