package ecs

import "github.com/slipway-cd/slipway/pkg/step"

// canaryDeleteType is the step type EcsCanaryDelete: the service that
// EcsCanaryDeploy has made is deleted, and its tasks end. Where there is none it
// succeeds and changes nothing.
//
// Outputs: output.canaryServiceName. It is done by delegate/ecs; the service that
// serves is never touched.
func canaryDeleteType() step.Type { return draining(fieldless(OpCanaryDelete)) }
