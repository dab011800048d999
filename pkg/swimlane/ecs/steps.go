package ecs

import "github.com/slipway-cd/slipway/pkg/step"

// Steps lists the step types of its stages.
func Steps() []step.Type {
	return []step.Type{
		basicRollbackType(),
		blueGreenCreateType(),
		blueGreenRollbackType(),
		blueGreenSwapType(),
		canaryDeleteType(),
		canaryDeployType(),
		rollingDeployType(),
		rollingRollbackType(),
		runTaskType(),
		scaleType(),
		serviceSetupType(),
		upgradeContainerType(),
		shiftRollbackType(),
		trafficShiftType(),
	}
}
