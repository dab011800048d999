package ecs

import "github.com/slipway-cd/slipway/pkg/step"

// basicRollbackType is the step type EcsBasicRollback: the service that served
// before EcsServiceSetup has its tasks again, and what scales it; the one that that
// step has made is deleted. Where it made none it succeeds and changes nothing.
//
// Outputs: output.newServiceName and output.oldServiceName. It goes by the
// checkpoints of the stage alone, which delegate/ecs keeps.
func basicRollbackType() step.Type { return fieldless(OpBasicRollback) }
