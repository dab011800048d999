package resolve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// deployedFunction is what a stage deploys of a service with a source, of which
// found was found.
func deployedFunction(t *testing.T, source, found string) (image string, target *awslambda.Target) {
	t.Helper()
	p, err := planning.Build(planning.Source{
		LookedUp: builtin.Types().Artifacts.LookedUp,
		Pipeline: pipelineOf(t, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "AwsLambda", ServiceRef: "shop", EnvironmentRef: "dev",
			Service:        parse(t, "identifier: shop\nserviceDefinition: {type: Kubernetes, spec: {artifacts: {primary: {sources: ["+source+"]}}}}"),
			Environment:    parse(t, environmentYAML),
			Infrastructure: parse(t, "identifier: i\ntype: AwsLambda\nspec: {connectorRef: inherit, region: eu-central-1}"),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node("pipeline.stages.deploy.spec.execution.steps.roll"), Entities: awsEntities{},
		Now: time.Unix(1000, 0), State: func(plan.NodeID) plan.State { return plan.State{Status: plan.Success, Outputs: []byte(found)} },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
	d, err := s.Deployment()
	if err != nil {
		t.Fatal(err)
	}
	target, ok := d.Target.(*awslambda.Target)
	if !ok {
		t.Fatalf("the target is a %T", d.Target)
	}
	return d.Image, target
}

// Artifacts beside the primary one are those that were found, or that the service
// names.
func TestTheSourcesBesideWhatIsDeployed(t *testing.T) {
	t.Parallel()
	p, err := planning.Build(planning.Source{
		LookedUp: builtin.Types().Artifacts.LookedUp,
		Pipeline: pipelineOf(t, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "ServerlessAwsLambda", ServiceRef: "shop", EnvironmentRef: "dev",
			Service: parse(t, `{identifier: shop, serviceDefinition: {type: Kubernetes, spec: {artifacts: {sidecars: [
  {sidecar: {identifier: base, type: AmazonS3, spec: {connectorRef: aws, bucketName: builds, filePathRegex: .*}}},
  {sidecar: {identifier: tools, type: AmazonS3, spec: {connectorRef: aws, bucketName: builds, filePath: tools.zip}}}]}}}}`),
			Environment:    parse(t, environmentYAML),
			Infrastructure: parse(t, "identifier: i\ntype: ServerlessAwsLambda\nspec: {connectorRef: inherit, region: eu-central-1, stage: dev}"),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node("pipeline.stages.deploy.spec.execution.steps.roll"), Entities: awsEntities{},
		Now: time.Unix(1000, 0), State: func(plan.NodeID) plan.State {
			return plan.State{Status: plan.Success, Outputs: []byte(`{"output":{"artifactResults":{"sidecars":{"base":{"version":"base-7.zip"}}}}}`)}
		},
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
	d, err := s.Deployment()
	if err != nil {
		t.Fatal(err)
	}
	target, ok := d.Target.(*serverless.Target)
	if !ok {
		t.Fatalf("the target is a %T", d.Target)
	}
	got := map[string]string{}
	for _, sidecar := range target.Sidecars {
		got[sidecar.ID] = sidecar.Artifact.S3.Bucket + "/" + sidecar.Artifact.Choice.Version
	}
	if diff := cmp.Diff(map[string]string{"base": "builds/base-7.zip", "tools": "builds/tools.zip"}, got); diff != "" {
		t.Errorf("sidecars (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"eu", "eu"}, target.Selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
}

// What is deployed is the version that was found, wherever the source says to look;
// every call is made in the infrastructure's region.
func TestTheSourceOfWhatIsDeployed(t *testing.T) {
	t.Parallel()
	const looked = `{"output":{"artifactResults":{"primary":{"version":"1.7","image":"1.dkr.ecr.eu-west-1.amazonaws.com/web:1.7","digest":"sha256:ab"}}}}`
	image, target := deployedFunction(t, "{identifier: e, type: Ecr, spec: {connectorRef: inherit, region: eu-west-1, imagePath: web, tagRegex: .*}}", looked)
	want := &lookup.Artifact{
		Type: "Ecr", Name: "web", Choice: lookup.Choice{Version: "1.7", Digest: "sha256:ab"},
		ECR: &lookup.ECRImages{AWS: task.AWS{Auth: task.AWSInherit, Region: "eu-west-1"}, Repository: "web"},
	}
	if diff := cmp.Diff(want, target.Artifact); diff != "" || image != "1.dkr.ecr.eu-west-1.amazonaws.com/web:1.7" {
		t.Errorf("image %s (-want +got):\n%s", image, diff)
	}
	if target.AWS.Region != "eu-central-1" {
		t.Errorf("the function's region is %s", target.AWS.Region)
	}
	image, target = deployedFunction(t, "{identifier: o, type: AmazonS3, spec: {connectorRef: aws, bucketName: builds, filePath: web-1.zip}}", `{}`)
	if image != "web-1.zip" || target.Artifact.Choice.Version != "web-1.zip" || target.Artifact.S3.Bucket != "builds" {
		t.Errorf("image %s, %+v", image, target.Artifact)
	}
	if diff := cmp.Diff([]string{"eu"}, target.Selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
}

// People who choose a version are shown the newest of the source that they name,
// whichever the service would take.
func TestVersionsToChooseFrom(t *testing.T) {
	t.Parallel()
	const roll = "pipeline.stages.deploy.spec.execution.steps.roll"
	for name, want := range map[string]string{
		"":      "index.docker.io/library/nginx",
		"hub":   "index.docker.io/library/nginx",
		"other": "index.docker.io/x/y",
		"none":  `error: the service has no artifact source or sidecar "none"`,
	} {
		a, err := scopeAt(t, roll).ArtifactVersions(name, 5)
		if words, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || err.Error() != words {
				t.Errorf("%q: %v; want %s", name, err, words)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got := a.Task.Choice; got.List != 5 {
			t.Errorf("%q: it asks for %+v; want the newest five", name, got)
		}
		if a.Task.Name != want {
			t.Errorf("%q: it asks for %s; want %s", name, a.Task.Name, want)
		}
	}
	if _, err := scopeAt(t, "pipeline.stages.build.spec.execution.steps.ask").ArtifactVersions("", 5); err == nil {
		t.Error("a stage that deploys nothing has versions")
	}
}
