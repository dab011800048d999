package serverless_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
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

// What can't be deployed is refused, beside the primary artifact too.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	report := yamldoc.NewReport("")
	d := &swimlane.Decoder{Decoder: document.New(report), Common: document.Keys{"artifacts": document.Nothing}}
	docs, parsed := yamldoc.Parse("service.yaml", []byte(`artifacts:
  primary:
    primaryArtifactRef: zip
    sources:
      - {identifier: zip, type: ArtifactoryRegistry, spec: {}}
      - {identifier: other, type: Jenkins, spec: {}}
  sidecars:
    - sidecar: {identifier: base, type: AmazonS3, spec: {}}
    - sidecar: {identifier: tools, type: DockerRegistry, spec: {}}
`))
	if err := parsed.Err(); err != nil {
		t.Fatal(err)
	}
	serverless.Lane().Service(d, yamldoc.Sub(docs[0], ""))
	want := []string{
		"artifacts.primary.sources[1].type: a service of Serverless can't take an artifact of Jenkins yet; want one of AmazonS3, ArtifactoryRegistry, Ecr",
		"artifacts.sidecars[1].sidecar.type: a service of Serverless can't take an artifact of DockerRegistry yet; want one of AmazonS3, ArtifactoryRegistry, Ecr",
	}
	err := report.Err()
	if err == nil || strings.Count(err.Error(), "can't take") != len(want) {
		t.Fatalf("got %v; want %q", err, want)
	}
	for _, one := range want {
		if !strings.Contains(err.Error(), one) {
			t.Errorf("%v; want %q", err, one)
		}
	}
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
