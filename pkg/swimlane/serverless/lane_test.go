package serverless_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, serverless.Lane(), serverless.Steps(), swimlanetest.Config{
		Service:         "{manifests: [{manifest: {identifier: f, type: ServerlessAwsLambda, spec: {store: {type: Harness, spec: {files: [/app]}}}}}]}",
		Infrastructures: map[string]string{serverless.Type: "{connectorRef: c, region: eu-central-1, stage: dev}"},
		Undo: map[string]string{
			"ServerlessAwsLambdaDeploy": "ServerlessAwsLambdaRollback", "ServerlessAwsLambdaPrepareRollbackV2": "ServerlessAwsLambdaRollbackV2",
			"ServerlessAwsLambdaPackageV2": "ServerlessAwsLambdaRollbackV2", "ServerlessAwsLambdaDeployV2": "ServerlessAwsLambdaRollbackV2",
		},
		Others: swimlane.Lanes{kubernetes.Lane(), awssam.Lane()},
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[serverless.Target](t, serverless.Lane(), serverless.Steps())
}

// Only the folder is brought: the configuration has expressions.
func TestFetched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload string
		want    swimlane.Fetched
	}{
		"a folder of the file store": {`{"spec": {"target": {"application": {"id": "app", "store": {"files": {"paths": ["/app"]}}}}}}`, swimlane.Fetched{Files: true, Stored: []string{"/app"}}},
		"nothing":                    {`{"spec": {"target": {}}}`, swimlane.Fetched{}},
	} {
		found, err := swimlane.Kinds(serverless.Lane().Kinds).Fetched(serverless.Kind, []byte(c.payload))
		if diff := cmp.Diff(c.want, found); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
