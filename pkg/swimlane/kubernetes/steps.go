package kubernetes

import "github.com/slipway-cd/slipway/pkg/step"

// Steps lists the step types of its stages.
func Steps() []step.Type {
	return []step.Type{
		applyType(),
		swapServicesType(),
		blueGreenDeployType(),
		stageScaleDownType(),
		stageScaleUpType(),
		canaryDeleteType(),
		canaryDeployType(),
		deletionType(),
		diffType(),
		dryRunType(),
		patchType(),
		progressiveRollbackType(),
		rollingDeployType(),
		rollingRollbackType(),
		rolloutType(),
		scaleType(),
		trafficRoutingType(),
	}
}
