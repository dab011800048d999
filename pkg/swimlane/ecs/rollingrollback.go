package ecs

import "github.com/slipway-cd/slipway/pkg/step"

// rollingRollbackType is the step type EcsRollingRollback: the service and what
// scales it are again as they were before the stage deployed. One that the stage
// has made is scaled down to nothing. Where the stage changed nothing it
// succeeds and changes nothing.
//
// Outputs: those of EcsRollingDeploy. It goes by the checkpoints of the stage
// alone, which delegate/ecs keeps.
func rollingRollbackType() step.Type { return fieldless(OpRollingRollback) }
