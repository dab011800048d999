package asg

import "github.com/slipway-cd/slipway/pkg/step"

// Steps lists the step types of its stages.
func Steps() []step.Type {
	return []step.Type{
		blueGreenDeployType(),
		blueGreenRollbackType(),
		blueGreenSwapType(),
		canaryDeleteType(),
		canaryDeployType(),
		phasedDeployType(),
		phasedRollbackType(),
		rollingDeployType(),
		rollingRollbackType(),
		scaleType(),
		setupType(),
		shiftTrafficType(),
		steadyStateType(),
	}
}
