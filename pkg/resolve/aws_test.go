package resolve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// awsEntities serves the connectors of AWS and of registries.
type awsEntities struct{ store.Entities }

func (awsEntities) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	docs := map[string]string{
		"aws": `{identifier: aws, type: Aws, spec: {delegateSelectors: [eu], credential: {type: ManualConfig, region: us-east-1,
  spec: {accessKey: AKIA, secretKeyRef: org.s}, crossAccountAccess: {crossAccountRoleArn: "arn:aws:iam::210987654321:role/r", externalId: "42"}},
  awsSdkClientBackOffStrategyOverride: {type: FixedDelayBackoffStrategy, spec: {fixedBackoff: 7, retryCount: 3}}}}`,
		"inherit": `{identifier: inherit, type: Aws, spec: {credential: {type: InheritFromDelegate}}}`,
		"private": `{identifier: private, type: DockerRegistry, spec: {dockerRegistryUrl: "https://r.example.com/v2/", providerType: Other,
  auth: {type: UsernamePassword, spec: {username: me, passwordRef: pass}}}}`,
		"hub": `{identifier: hub, type: DockerRegistry, spec: {dockerRegistryUrl: "https://registry.hub.docker.com/v2/", providerType: DockerHub,
  auth: {type: UsernamePassword, spec: {usernameRef: name, passwordRef: pass}}}}`,
		"open": `{identifier: open, type: DockerRegistry, spec: {dockerRegistryUrl: "https://r.example.com", providerType: Other, auth: {type: Anonymous}}}`,
	}
	doc, ok := docs[k.ID]
	if !ok {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte("connector: " + doc)}, nil
}

// withArtifact is the scope of a step that deploys a service with one source.
func withArtifact(tb testing.TB, source string) *resolve.Scope {
	tb.Helper()
	p, err := planning.Build(planning.Source{
		LookedUp: builtin.Types().Artifacts.LookedUp,
		Pipeline: pipelineOf(tb, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "Kubernetes", ServiceRef: "shop", EnvironmentRef: "dev",
			Service:     parse(tb, "identifier: shop\nserviceDefinition: {type: Kubernetes, spec: {artifacts: {primary: {sources: ["+source+"]}}}}"),
			Environment: parse(tb, environmentYAML), Infrastructure: parse(tb, infrastructureYAML),
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: tb.Context(), Plan: p, Node: p.Node("pipeline.stages.deploy.spec.execution.steps.roll"), Entities: awsEntities{},
		Now: time.Unix(1000, 0), State: func(plan.NodeID) plan.State { return plan.State{Status: plan.Success} },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}

func TestArtifactsOfAWS(t *testing.T) {
	t.Parallel()
	const (
		ecr   = `{identifier: e, type: Ecr, spec: {connectorRef: aws, region: eu-central-1, imagePath: acme/web, tag: "<+pipeline.variables.env>", registryId: "210987654321"}}`
		owned = `{identifier: e, type: Ecr, spec: {connectorRef: inherit, region: cn-north-1, registryId: "123456789012", imagePath: web, tag: "1", digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}`
		s3    = `{identifier: o, type: AmazonS3, spec: {connectorRef: aws, region: eu-central-1, bucketName: builds, filePath: "web/<+pipeline.variables.env>.zip"}}`
	)
	tests := []struct{ name, source, text, want string }{
		{"an image, by the account of the connector's role", ecr, "<+artifact.image>", "210987654321.dkr.ecr.eu-central-1.amazonaws.com/acme/web:dev"},
		{"what is known of it", ecr, "<+artifact.type> <+artifact.tag> <+artifact.imagePath> <+artifact.connectorRef> <+artifacts.primary.region>", "Ecr dev acme/web aws eu-central-1"},
		{"an image of another account, in China", owned, "<+artifact.metadata.image>", "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/web:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		{"an object", s3, "<+artifact.bucketName> <+artifact.filePath> <+artifact.metadata.url> <+artifact.metadata.fileName>", "builds web/dev.zip s3://builds/web/dev.zip dev.zip"},
		{"an object isn't an image", s3, "<+artifact.image>", "null"},
		{"and has no pull secret", s3, "[<+artifact.imagePullSecret>]", "[]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := withArtifact(t, tt.source).Text(tt.text)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("%s\n got %q\nwant %q", tt.text, got, tt.want)
			}
		})
	}
}

// What a machine image must have is resolved, and named as EC2 does.
func TestMachineImages(t *testing.T) {
	t.Parallel()
	s := withArtifact(t, `{identifier: a, type: AmazonMachineImage, spec: {connectorRef: inherit, region: eu-central-1, versionRegex: "<+pipeline.variables.env>-.*",
  tags: [{name: env, value: "<+pipeline.variables.env>"}], filters: [{name: ami-image-id, value: "ami-1*"}, {name: architecture, value: arm64}]}}`)
	got, err := s.Artifact()
	if err != nil {
		t.Fatal(err)
	}
	want := &lookup.Artifact{
		Type: "AmazonMachineImage", Name: "AMI in eu-central-1", Choice: lookup.Choice{Pattern: "dev-.*"},
		AMI: &lookup.MachineImages{AWS: task.AWS{Auth: task.AWSInherit, Region: "eu-central-1"}, Filters: map[string]string{
			"tag:env": "dev", "image-id": "ami-1*", "architecture": "arm64",
		}},
	}
	if diff := cmp.Diff(want, got.Task); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// A pull secret is a placeholder: how to make it goes to the delegate, with
// the secrets that it needs as placeholders too.
func TestPullSecretsArePlaceholders(t *testing.T) {
	t.Parallel()
	docker := func(connector string) string {
		return "{identifier: d, type: DockerRegistry, spec: {connectorRef: " + connector + ", imagePath: web, tag: v1}}"
	}
	tests := []struct {
		name, source, text string
		want               task.PullSecret
		selectors          []string
	}{
		{
			name:   "ECR",
			source: `{identifier: e, type: Ecr, spec: {connectorRef: aws, region: eu-central-1, imagePath: web, tag: "1"}}`,
			text:   "<+artifact.imagePullSecret>",
			want: task.PullSecret{
				Form: task.PullDockerCfg, Registry: "https://210987654321.dkr.ecr.eu-central-1.amazonaws.com",
				ECR: &task.AWS{
					Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "secret:acme/default:s", Region: "eu-central-1",
					Role: "arn:aws:iam::210987654321:role/r", ExternalID: "42",
					BackOff: &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 3, Fixed: 7},
				},
			},
			selectors: []string{"eu"},
		},
		{
			name: "ECR, of the credentials' account", source: `{identifier: e, type: Ecr, spec: {connectorRef: inherit, region: eu-central-1, imagePath: web, tag: "1"}}`,
			text: "<+artifact.imagePullSecret>",
			want: task.PullSecret{Form: task.PullDockerCfg, ECR: &task.AWS{Auth: task.AWSInherit, Region: "eu-central-1"}},
		},
		{
			name: "a registry", source: docker("private"), text: "<+artifact.dockerConfigJsonSecret>",
			want: task.PullSecret{Form: task.PullDockerConfigJSON, Registry: "https://r.example.com/v2/", Username: "me", Password: "secret:acme/default/web:pass"},
		},
		{
			name: "Docker Hub", source: docker("hub"), text: "<+artifacts.primary.imagePullSecret>",
			want: task.PullSecret{
				Form: task.PullDockerCfg, Registry: "https://index.docker.io/v1/",
				Username: "secret:acme/default/web:name", Password: "secret:acme/default/web:pass",
			},
		},
		{name: "nobody logs in", source: docker("open"), text: "<+artifact.imagePullSecret>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := withArtifact(t, tt.source)
			got, err := s.Text(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			made := s.LateSecrets()[got]
			if diff := cmp.Diff(tt.want, named(s, made)); diff != "" {
				t.Errorf("%q stands for (-want +got):\n%s", got, diff)
			}
			if diff := cmp.Diff(tt.selectors, made.Selectors); diff != "" {
				t.Errorf("who makes it (-want +got):\n%s", diff)
			}
		})
	}
}

// named is a pull secret with names where it has placeholders; none for other
// secrets.
func named(s *resolve.Scope, late task.LateSecret) task.PullSecret {
	if late.Pull == nil {
		return task.PullSecret{}
	}
	p := *late.Pull
	name := func(text string) string {
		if n, ok := s.Secrets()[text]; ok {
			return n
		}
		return text
	}
	p.Username, p.Password = name(p.Username), name(p.Password)
	if p.ECR != nil {
		p.ECR.SecretKey = name(p.ECR.SecretKey)
	}
	return p
}
