package ecs

import "github.com/slipway-cd/slipway/pkg/step"

// canaryDeployType is the step type EcsCanaryDeploy: one task of what is to be
// deployed, as a service of its own beside the one that serves. EcsCanaryDelete
// deletes it.
//
// Outputs: those of EcsRollingDeploy, and output.canaryServiceName. The
// deployment itself is done by delegate/ecs.
func canaryDeployType() step.Type { return previewed(draining(fieldless(OpCanary)), OpCanaryDiff, 1) }
