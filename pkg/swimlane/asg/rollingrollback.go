package asg

import "github.com/slipway-cd/slipway/pkg/step"

// rollingRollbackType is the step type AsgRollingRollback: the group, what scales
// it and its machines are again as they were before the stage deployed. One that
// the stage has made is deleted. Where the stage changed nothing it succeeds and
// changes nothing.
//
// Outputs: those of AsgRollingDeploy. It goes by the checkpoints of the stage
// alone, which delegate/asg keeps.
func rollingRollbackType() step.Type { return fieldless(OpRollingRollback) }
