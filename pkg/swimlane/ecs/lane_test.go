package ecs_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, ecs.Lane(), ecs.Steps(), swimlanetest.Config{
		Service: `{manifests: [
  {manifest: {identifier: task, type: EcsTaskDefinition, spec: {store: {type: Inline, spec: {content: x}}}}},
  {manifest: {identifier: service, type: EcsServiceDefinition, spec: {store: {type: Inline, spec: {content: x}}}}}]}`,
		Infrastructures: map[string]string{ecs.Type: "{connectorRef: c, region: eu-central-1, cluster: web}"},
		Undo: map[string]string{
			"EcsRollingDeploy": "EcsRollingRollback", "EcsCanaryDeploy": "EcsCanaryDelete",
			"EcsServiceSetup": "EcsBasicRollback", "EcsUpgradeContainer": "EcsBasicRollback",
			"EcsBlueGreenCreateService": "EcsBlueGreenRollback", "EcsBlueGreenSwapTargetGroups": "EcsBlueGreenRollback",
			"EcsBlueGreenTrafficShift": "StandAloneTrafficShiftRollback",
			// A task that ran can't be taken back, and what EcsScale does is done by hand.
			"EcsRunTask": "", "EcsScale": "EcsScale",
		},
		Others: swimlane.Lanes{kubernetes.Lane()},
	})
}
