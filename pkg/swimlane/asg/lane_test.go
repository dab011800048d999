package asg_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, asg.Lane(), asg.Steps(), swimlanetest.Config{
		Service: `{userData: {store: {type: Inline, spec: {content: "#!/bin/sh"}}}, manifests: [
  {manifest: {identifier: template, type: AsgLaunchTemplate, spec: {store: {type: Inline, spec: {content: x}}}}},
  {manifest: {identifier: group, type: AsgConfiguration, spec: {store: {type: Inline, spec: {content: x}}}}}]}`,
		Infrastructures: map[string]string{asg.Type: "{connectorRef: c, region: eu-central-1, baseAsgName: base}"},
		NotPlace:        []string{"baseAsgName"}, // it stands for documents
		Undo: map[string]string{
			"AsgRollingDeploy": "AsgRollingRollback", "AsgCanaryDeploy": "AsgCanaryDelete",
			"AsgBlueGreenDeploy": "AsgBlueGreenRollback", "AsgBlueGreenSwapService": "AsgBlueGreenRollback", "AsgShiftTraffic": "AsgBlueGreenRollback",
			"AsgSetup": "AsgRollback", "AsgPhasedDeploy": "AsgRollback",
			// The one changes nothing, and what the other does is done by hand.
			"AsgSteadyState": "", "AsgScale": "AsgScale",
		},
		Others: swimlane.Lanes{kubernetes.Lane(), ecs.Lane()},
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[asg.Target](t, asg.Lane(), asg.Steps())
}
