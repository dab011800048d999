package elastigroup

import "github.com/slipway-cd/slipway/pkg/step"

// Steps lists the step types of its stages.
func Steps() []step.Type {
	return []step.Type{
		deployType(),
		stageSetupType(),
		swapRouteType(),
		trafficShiftType(),
		rollbackType(),
		setupType(),
	}
}
