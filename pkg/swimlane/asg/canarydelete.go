package asg

import "github.com/slipway-cd/slipway/pkg/step"

// canaryDeleteType is the step type AsgCanaryDelete: the group that AsgCanaryDeploy
// has made is deleted with its machines and its launch template. Where there is none
// it succeeds and changes nothing.
//
// Outputs: output.asgName, that of the canary. It is done by delegate/asg; the group
// that serves is never touched.
func canaryDeleteType() step.Type { return fieldless(OpCanaryDelete) }
