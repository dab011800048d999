package awslambda_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, awslambda.Lane(), awslambda.Steps(), swimlanetest.Config{
		Service:         "{manifests: [{manifest: {identifier: f, type: AwsLambdaFunctionDefinition, spec: {store: {type: Inline, spec: {content: x}}}}}]}",
		Infrastructures: map[string]string{awslambda.Type: "{connectorRef: c, region: eu-central-1}"},
		Undo: map[string]string{
			"AwsLambdaDeploy": "AwsLambdaRollback", "AwsLambdaCanaryDeploy": "AwsLambdaCanaryRollback", "AwsLambdaTrafficShift": "AwsLambdaCanaryRollback",
		},
		Others: swimlane.Lanes{kubernetes.Lane(), custom.Lane()},
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[awslambda.Target](t, awslambda.Lane(), awslambda.Steps())
}
