package elastigroup_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, elastigroup.Lane(), elastigroup.Steps(), swimlanetest.Config{
		Service:         `{startupScript: {store: {type: Inline, spec: {content: "#!/bin/sh"}}}}`,
		Infrastructures: map[string]string{elastigroup.Type: "{connectorRef: c, configuration: {store: {type: Inline, spec: {content: x}}}}"},
		Connector:       "Spot",
		Undo: map[string]string{"ElastigroupSetup": "ElastigroupRollback", "ElastigroupDeploy": "ElastigroupRollback",
			"ElastigroupBGStageSetup": "ElastigroupRollback", "ElastigroupSwapRoute": "ElastigroupRollback", "ElastigroupBlueGreenTrafficShift": "ElastigroupRollback",
		},
		Others: swimlane.Lanes{kubernetes.Lane(), ecs.Lane()},
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[elastigroup.Target](t, elastigroup.Lane(), elastigroup.Steps())
}
