package resolve_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// connectors serves connectors by their documents' specs: type and spec.
type connectors struct {
	store.Entities

	docs map[string]string
}

func (c connectors) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	doc, ok := c.docs[k.ID]
	if !ok || k.Kind != ref.Connector {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: fmt.Appendf(nil, "connector: {identifier: %s, name: %s, %s}", k.ID, k.ID, doc)}, nil
}

func registries() connectors {
	return connectors{docs: map[string]string{
		"hub":     `type: DockerRegistry, spec: {dockerRegistryUrl: "https://index.docker.io/v2/", providerType: DockerHub, auth: {type: Anonymous}}`,
		"gcp":     `type: Gcp, spec: {credential: {type: ManualConfig, spec: {secretKeyRef: account.gcp}}, delegateSelectors: [eu]}`,
		"azure":   `type: Azure, spec: {azureEnvironmentType: AZURE, credential: {type: ManualConfig, spec: {applicationId: a, tenantId: t, auth: {type: Secret, spec: {secretRef: azure}}}}}`,
		"gov":     `type: Azure, spec: {azureEnvironmentType: AZURE_US_GOVERNMENT, credential: {type: InheritFromDelegate, spec: {auth: {type: UserAssignedManagedIdentity, spec: {clientId: u}}}}}`,
		"github":  `type: Github, spec: {url: "https://github.com/acme", type: Account, authentication: {type: Http, spec: {type: UsernameToken, spec: {username: ann, tokenRef: token}}}}`,
		"ghe":     `type: Github, spec: {url: "https://git.example.com/acme", type: Account, authentication: {type: Http, spec: {type: UsernameToken, spec: {username: ann, tokenRef: token}}}, apiAccess: {type: Token, spec: {tokenRef: api}}}`,
		"nexus":   `type: Nexus, spec: {nexusServerUrl: "https://nexus.example.com:8081/nexus", version: 3.x, auth: {type: UsernamePassword, spec: {username: robot, passwordRef: nexus}}}`,
		"jfrog":   `type: Artifactory, spec: {artifactoryServerUrl: "https://acme.jfrog.io/artifactory", auth: {type: Anonymous}}`,
		"jenkins": `type: Jenkins, spec: {jenkinsUrl: "https://jenkins.example.com", auth: {type: "Bearer Token(HTTP Header)", spec: {tokenRef: jenkins}}}`,
		"harbor":  `type: DockerRegistry, spec: {dockerRegistryUrl: "https://harbor.example.com:8443", providerType: Harbor, delegateSelectors: [near], auth: {type: UsernamePassword, spec: {username: robot, passwordRef: account.harbor}}}`,
	}}
}

// stageWith is a stage that deploys a service with one artifact source; state
// is that of the step that looks it up.
func stageWith(t *testing.T, source string, state plan.State, at plan.NodeID) *resolve.Scope {
	t.Helper()
	p, err := planning.Build(planning.Source{
		LookedUp: builtin.Types().Artifacts.LookedUp,
		Pipeline: pipelineOf(t, `
identifier: web
name: Web
variables: [{name: env, type: String, value: dev}]
stages:
  - stage:
      identifier: deploy
      name: Deploy
      type: Deployment
      spec:
        deploymentType: Kubernetes
        execution: {steps: [{step: {identifier: roll, name: roll, type: ShellScript, spec: {}}}]}
`),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Service:     parse(t, "serviceDefinition: {type: Kubernetes, spec: {artifacts: {primary: {sources: [{identifier: main, "+source+"}]}}}}"),
			Environment: parse(t, environmentYAML), Infrastructure: parse(t, infrastructureYAML),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := p.Node(at)
	if n == nil {
		t.Fatalf("the plan has no node %s", at)
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: n, Entities: registries(),
		State: func(id plan.NodeID) plan.State {
			if strings.HasSuffix(string(id), ".spec.service") {
				return state
			}
			return plan.State{}
		},
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}

const (
	lookupNode = "pipeline.stages.deploy.spec.service"
	rollNode   = "pipeline.stages.deploy.spec.execution.steps.roll"
)

func TestWhatASourceIsAsked(t *testing.T) {
	t.Parallel()
	hub := func(c lookup.Choice) lookup.Artifact {
		return lookup.Artifact{
			Type: "DockerRegistry", Name: "index.docker.io/library/nginx", Choice: c,
			Registry: &lookup.Registry{
				Server:     task.Server{URL: "https://index.docker.io", Auth: task.AuthNone},
				Repository: "library/nginx", Image: "index.docker.io/library/nginx",
			},
		}
	}
	digest := strings.Repeat("ab", 32)
	tests := []struct {
		name, spec string
		want       lookup.Choice
	}{
		{"the newest that matches", `tag: "", tagRegex: "1\\.<+pipeline.variables.env>.*"`, lookup.Choice{Pattern: `1\.dev.*`}},
		{"a digest", "tag: <+pipeline.variables.env>, digest: " + digest, lookup.Choice{Version: "dev", Digest: digest}},
		{"the newest", "tag: <+lastPublished.tag>", lookup.Choice{Pattern: ".*"}},
		{"the newest of some", "tag: '<+lastPublished.tag>.regex(v\\d+(-rc)?)'", lookup.Choice{Pattern: `v\d+(-rc)?`}},
		{"the newest of some, within the expression", `tag: '<+lastPublished.tag.regex("v.*")>'`, lookup.Choice{Pattern: `v.*`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := stageWith(t, "type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/nginx, "+tt.spec+"}", plan.State{}, lookupNode)
			got, err := s.Artifact()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(hub(tt.want), *got.Task); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARegistryIsAskedWithItsCredentials(t *testing.T) {
	t.Parallel()
	s := stageWith(t, "type: DockerRegistry, spec: {connectorRef: harbor, imagePath: team/web, tagRegex: .*}", plan.State{}, lookupNode)
	got, err := s.Artifact()
	if err != nil {
		t.Fatal(err)
	}
	server := got.Task.Registry.Server
	if server.URL != "https://harbor.example.com:8443" || server.Username != "robot" || s.Secrets()[server.Password] != "secret:acme:harbor" {
		t.Errorf("server %+v with the secrets %v", server, s.Secrets())
	}
	if diff := cmp.Diff([]string{"near"}, got.Selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
}

const results = `{"output":{"artifactResults":{"primary":{"version":"1.7","image":"index.docker.io/library/nginx:1.7","digest":"sha256:ab",
	"metadata":{"SHA":"sha256:ab","tag":"1.7"},"label":{"commit":"abc","a.b":"c"}}}}}`

func TestNamesOfALookedUpArtifact(t *testing.T) {
	t.Parallel()
	source := "type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/nginx, tagRegex: .*}"
	for text, want := range map[string]string{
		"<+artifact.tag> <+artifacts.primary.version>": "1.7 1.7",
		"<+primary.artifact.tag>":                      "1.7",
		"<+artifact.image>":                            "index.docker.io/library/nginx:1.7",
		"<+artifact.imagePath> <+artifact.type> <+artifact.connectorRef> <+artifact.identifier>": "library/nginx DockerRegistry hub main",
		"<+artifact.metadata.SHA> <+artifact.metadata.tag> <+artifact.metadata.none>":            "sha256:ab 1.7 null",
		`<+<+artifacts.primary.label>.get("a.b")> <+artifact.label.get("commit")>`:               "c abc",
		"<+artifact.digest>": "sha256:ab",
		"<+pipeline.stages.deploy.spec.service.output.artifactResults.primary.tag>":       "1.7",
		"<+pipeline.stages.deploy.spec.serviceConfig.output.artifactResults.primary.tag>": "1.7",
		"<+pipeline.stages.deploy.spec.artifacts.primary.image>":                          "index.docker.io/library/nginx:1.7",
		"<+service.output.artifactResults.primary.metadata.SHA>":                          "sha256:ab",
	} {
		s := stageWith(t, source, plan.State{Status: plan.Success, Outputs: []byte(results)}, rollNode)
		got, err := s.Text(text)
		if err != nil || got != want {
			t.Errorf("%s\n got %q, %v\nwant %q", text, got, err, want)
		}
	}
}

func TestAnArtifactIsntKnownBeforeItWasLookedUp(t *testing.T) {
	t.Parallel()
	s := stageWith(t, "type: DockerRegistry, spec: {connectorRef: hub, imagePath: a/b, tagRegex: .*}", plan.State{Status: plan.Running}, rollNode)
	_, err := s.Text("<+artifact.tag>")
	if !fault.Is(err, fault.UnresolvedExpression) {
		t.Errorf("got %v; want an error", err)
	}
	if _, err := s.Text("<+lastPublished.tag>"); !fault.Is(err, fault.Invalid) {
		t.Errorf("<+lastPublished.tag> in a step gives %v; want an error", err)
	}
}

// TestWhichArtifactsAreLookedUp: what a document says costs no task.
func TestWhichArtifactsAreLookedUp(t *testing.T) {
	t.Parallel()
	fixed := `{identifier: fixed, type: DockerRegistry, spec: {connectorRef: hub, imagePath: a/b, tag: <+pipeline.variables.env>}}`
	newest := `{identifier: newest, type: DockerRegistry, spec: {connectorRef: hub, imagePath: a/b, tagRegex: .*}}`
	for primary, want := range map[string]bool{
		"{sources: [" + fixed + "]}":                                                         false,
		"{sources: [" + newest + "]}":                                                        true,
		"{primaryArtifactRef: fixed, sources: [" + fixed + ", " + newest + "]}":              false,
		"{primaryArtifactRef: <+stage.name>, sources: [" + fixed + ", " + newest + "]}":      true,
		`{type: DockerRegistry, spec: {connectorRef: hub, imagePath: a, tag: "1"}}`:          false,
		`{type: Ecr, spec: {connectorRef: aws, region: r, imagePath: a, tag: "1"}}`:          true, // whose it is
		`{type: Ecr, spec: {connectorRef: aws, registryId: "1", imagePath: a, tag: "1"}}`:    false,
		`{type: Ecr, spec: {connectorRef: aws, registryId: "1", imagePath: a, tagRegex: a}}`: true,
		`{type: AmazonMachineImage, spec: {connectorRef: aws, region: r, version: a}}`:       true, // its id
		`{type: AmazonS3, spec: {connectorRef: aws, bucketName: b, filePath: a}}`:            false,
		`{type: AmazonS3, spec: {connectorRef: aws, bucketName: b, filePathRegex: a}}`:       true,
		`{type: DockerRegistry, spec: {connectorRef: hub, imagePath: a, tagRegex: "1.*"}}`:   true,
		"{}": false,
		`{sources: [{identifier: a, type: CustomArtifact, spec: {version: "1"}}]}`:                                false,
		`{sources: [{identifier: a, type: CustomArtifact, spec: {version: "1", scripts: {}}}]}`:                   true,
		`{sources: [{identifier: a, type: Nexus3Registry, spec: {repositoryFormat: docker, tag: "1"}}]}`:          false,
		`{sources: [{identifier: a, type: Nexus3Registry, spec: {repositoryFormat: maven, tag: "1"}}]}`:           true,
		`{sources: [{identifier: a, type: GithubPackageRegistry, spec: {packageType: container, version: "1"}}]}`: false,
		`{sources: [{identifier: a, type: GithubPackageRegistry, spec: {packageType: npm, version: "1"}}]}`:       true,
		`{sources: [{identifier: a, type: Gcr, spec: {tag: "<+lastPublished.tag>"}}]}`:                            true,
		`{sources: [{identifier: a, type: Gcr, spec: {tag: "1", digest: "<+pipeline.variables.digest>"}}]}`:       true,
	} {
		p, err := planning.Build(planning.Source{
			LookedUp: builtin.Types().Artifacts.LookedUp,
			Pipeline: pipelineOf(t, "identifier: p\nstages: [{stage: {identifier: s, type: Deployment, spec: {execution: {steps: [{step: {identifier: x, type: Wait}}]}}}}]"),
			Deployments: map[string]*plan.Deployment{"s": {
				Service: parse(t, "serviceDefinition: {type: Kubernetes, spec: {artifacts: {primary: "+primary+"}}}"),
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		n := p.Node("pipeline.stages.s.spec.service")
		if got := n != nil; got != want {
			t.Errorf("%s is looked up: %t; want %t", primary, got, want)
		}
		if n != nil && n.Parent().Children[0].ID != n.ID {
			t.Errorf("%s isn't looked up first", primary)
		}
	}
}

func TestResultsAreWhatDelegatesSend(t *testing.T) {
	t.Parallel()
	var sent struct {
		Output struct {
			ArtifactResults struct{ Primary map[string]any } `json:"artifactResults"`
		} `json:"output"`
	}
	doc, err := json.Marshal(map[string]any{"output": map[string]any{"artifactResults": map[string]any{"primary": lookup.Results{
		Version: "1.7", Image: "i", Digest: "d", Metadata: map[string]string{"SHA": "s"}, Label: map[string]string{"a": "b"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc, &sent); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "image", "digest", "metadata", "label"} {
		if _, ok := sent.Output.ArtifactResults.Primary[key]; !ok {
			t.Errorf("%s isn't in %s", key, doc)
		}
	}
}

func TestImagesOfClouds(t *testing.T) {
	t.Parallel()
	tests := []struct{ source, image string }{
		{`type: Gcr, spec: {connectorRef: gcp, registryHostname: eu.gcr.io, imagePath: acme/web, tag: "1"}`, "eu.gcr.io/acme/web:1"},
		{`type: GoogleArtifactRegistry, spec: {connectorRef: gcp, repositoryType: docker, project: acme, region: europe-west3, repositoryName: apps, package: web, version: "1"}`, "europe-west3-docker.pkg.dev/acme/apps/web:1"},
		{`type: Acr, spec: {connectorRef: azure, subscriptionId: s, registry: Acme, repository: team/web, tag: "1"}`, "acme.azurecr.io/team/web:1"},
		{`type: Acr, spec: {connectorRef: gov, subscriptionId: s, registry: acme, repository: team/web, tag: "1"}`, "acme.azurecr.us/team/web:1"},
		{`type: GithubPackageRegistry, spec: {connectorRef: github, packageType: container, packageName: web, org: Acme, version: "1"}`, "ghcr.io/acme/web:1"},
		{`type: GithubPackageRegistry, spec: {connectorRef: github, packageType: container, packageName: web, version: "1"}`, "ghcr.io/ann/web:1"},
		{`type: GithubPackageRegistry, spec: {connectorRef: ghe, packageType: container, packageName: web, user: ann, version: "1"}`, "containers.git.example.com/ann/web:1"},
		{`type: Nexus3Registry, spec: {connectorRef: nexus, repository: r, repositoryFormat: docker, spec: {artifactPath: team/web, repositoryPort: "8083"}, tag: "1"}`, "nexus.example.com:8083/team/web:1"},
		{`type: Nexus3Registry, spec: {connectorRef: nexus, repository: r, repositoryFormat: docker, spec: {artifactPath: team/web, repositoryUrl: "https://docker.example.com/"}, tag: "1"}`, "docker.example.com/team/web:1"},
		{`type: ArtifactoryRegistry, spec: {connectorRef: jfrog, repository: images, repositoryFormat: docker, artifactPath: team/web, tag: "1"}`, "acme.jfrog.io/images/team/web:1"},
		{`type: ArtifactoryRegistry, spec: {connectorRef: jfrog, repository: images, repositoryFormat: docker, artifactPath: team/web, repositoryUrl: images.example.com, tag: "1"}`, "images.example.com/team/web:1"},
		{`type: CustomArtifact, spec: {version: "1"}`, "null"},
	}
	for _, tt := range tests {
		s := stageWith(t, tt.source, plan.State{}, rollNode)
		got, err := s.Text("<+artifact.image>")
		if err != nil || got != tt.image {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.source, got, err, tt.image)
		}
	}
}

func TestHowCloudsAreAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, source string
		want         lookup.Artifact
	}{
		{
			"a key of Google's", `type: Gcr, spec: {connectorRef: gcp, registryHostname: gcr.io, imagePath: acme/web, tagRegex: "1.*"}`,
			lookup.Artifact{Type: "Gcr", Name: "gcr.io/acme/web", Choice: lookup.Choice{Pattern: "1.*"}, Registry: &lookup.Registry{
				Server: task.Server{URL: "https://gcr.io", Auth: task.AuthNone}, Repository: "acme/web", Image: "gcr.io/acme/web",
				Google: &task.Google{Key: "secret:acme:gcp"},
			}},
		},
		{
			"a secret of Azure's", `type: Acr, spec: {connectorRef: azure, subscriptionId: s, registry: acme, repository: web, tag: <+lastPublished.tag>}`,
			lookup.Artifact{Type: "Acr", Name: "acme.azurecr.io/web", Choice: lookup.Choice{Pattern: ".*"}, Registry: &lookup.Registry{
				Server: task.Server{URL: "https://acme.azurecr.io", Auth: task.AuthNone}, Repository: "web", Image: "acme.azurecr.io/web",
				Azure: &task.Azure{Tenant: "t", Client: "a", Secret: "secret:acme/default/web:azure"},
			}},
		},
		{
			"a token of GitHub's API", `type: GithubPackageRegistry, spec: {connectorRef: ghe, packageType: maven, packageName: com.acme.web, org: acme, groupId: com.acme, artifactId: web, extension: war, version: "2"}`,
			lookup.Artifact{Type: "GithubPackageRegistry", Name: "maven package acme/com.acme.web", Choice: lookup.Choice{Version: "2"}, Github: &lookup.GithubPackages{
				Server: task.Server{URL: "https://git.example.com/api/v3", Auth: task.AuthBearer, Token: "secret:acme/default/web:api"},
				Owner:  "orgs/acme", Type: "maven", Package: "com.acme.web", Group: "com.acme", Artifact: "web", Extension: "war",
			}},
		},
		{
			"a component of Nexus", `type: Nexus3Registry, spec: {connectorRef: nexus, repository: r, repositoryFormat: maven, spec: {groupId: com.acme, artifactId: web, extension: war}, tagRegex: "1.*"}`,
			lookup.Artifact{Type: "Nexus3Registry", Name: "maven r/com.acme:web", Choice: lookup.Choice{Pattern: "1.*"}, Nexus: &lookup.Nexus{
				Server:     task.Server{URL: "https://nexus.example.com:8081/nexus", Auth: task.AuthBasic, Username: "robot", Password: "secret:acme/default/web:nexus"},
				Repository: "r", Format: "maven", Group: "com.acme", Artifact: "web", Extension: "war",
			}},
		},
		{
			"files of Artifactory", `type: ArtifactoryRegistry, spec: {connectorRef: jfrog, repository: files, repositoryFormat: generic, artifactDirectory: builds, artifactPath: web.zip}`,
			lookup.Artifact{Type: "ArtifactoryRegistry", Name: "files/builds", Choice: lookup.Choice{Version: "web.zip"}, Artifactory: &lookup.Artifactory{
				Server: task.Server{URL: "https://acme.jfrog.io/artifactory", Auth: task.AuthNone}, Repository: "files", Path: "builds",
			}},
		},
		{
			"builds of Jenkins", `type: Jenkins, spec: {connectorRef: jenkins, jobName: team/web, artifactPath: dist/web.zip, build: <+lastPublished.build>}`,
			lookup.Artifact{Type: "Jenkins", Name: "job team/web", Choice: lookup.Choice{Pattern: ".*"}, Jenkins: &lookup.JenkinsBuilds{
				Server: task.Server{URL: "https://jenkins.example.com", Auth: task.AuthBearer, Token: "secret:acme/default/web:jenkins"}, Job: "team/web", Path: "dist/web.zip",
			}},
		},
		{
			"a bucket of Google's", `type: GoogleCloudStorage, spec: {connectorRef: gcp, project: p, bucket: builds, artifactPath: web/1.zip}`,
			lookup.Artifact{Type: "GoogleCloudStorage", Name: "bucket builds", Choice: lookup.Choice{Version: "web/1.zip"}, Bucket: &task.GoogleBucket{
				Google: task.Google{Key: "secret:acme:gcp"}, Bucket: "builds",
			}},
		},
		{
			"a script", `type: CustomArtifact, spec: {versionRegex: "1.*", timeout: 2m, delegateSelectors: [builds], inputs: [{name: TOKEN, type: Secret, value: t}, {name: ENV, type: String, value: <+pipeline.variables.env>}],
				scripts: {fetchAllArtifacts: {artifactsArrayPath: $.items, versionPath: v, attributes: [{name: author, type: String, value: by.name}],
				spec: {shell: Bash, source: {type: Inline, spec: {script: "ls <+pipeline.variables.env>"}}}}}}`,
			lookup.Artifact{Type: "CustomArtifact", Name: "the custom artifact", Choice: lookup.Choice{Pattern: "1.*"}, Custom: &lookup.Custom{
				Script: task.Shell{Shell: "Bash", Script: "ls dev", Env: map[string]string{"TOKEN": "secret:acme/default/web:t", "ENV": "dev"}},
				Array:  "$.items", Version: "v", Attributes: map[string]string{"author": "by.name"},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := stageWith(t, tt.source, plan.State{}, lookupNode)
			got, err := s.Artifact()
			if err != nil {
				t.Fatal(err)
			}
			if tt.want.Custom != nil && (got.Timeout != 2*time.Minute || len(got.Selectors) != 1) {
				t.Errorf("timeout %s and selectors %v", got.Timeout, got.Selectors)
			}
			if diff := cmp.Diff(tt.want, withNames(s, *got.Task)); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}

// withNames puts the names of secrets where a task has placeholders.
func withNames(s *resolve.Scope, p lookup.Artifact) lookup.Artifact {
	doc, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	text := string(doc)
	for placeholder, name := range s.Secrets() {
		text = strings.ReplaceAll(text, placeholder, name)
	}
	var out lookup.Artifact
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		panic(err)
	}
	return out
}

func TestPullSecretsOfClouds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		source    string
		want      task.PullSecret
		selectors []string
	}{
		{
			`type: Gcr, spec: {connectorRef: gcp, registryHostname: gcr.io, imagePath: acme/web, tag: "1"}`,
			task.PullSecret{Form: task.PullDockerCfg, Registry: "https://gcr.io", Google: &task.Google{Key: "secret:acme:gcp"}},
			[]string{"eu"},
		},
		{
			`type: Acr, spec: {connectorRef: gov, subscriptionId: s, registry: acme, repository: web, tag: "1"}`,
			task.PullSecret{Form: task.PullDockerCfg, Registry: "https://acme.azurecr.us", Azure: &task.Azure{Government: true, Managed: true, Client: "u"}}, nil,
		},
		{
			`type: GithubPackageRegistry, spec: {connectorRef: github, packageType: container, packageName: web, version: "1"}`,
			task.PullSecret{Form: task.PullDockerCfg, Registry: "https://ghcr.io", Username: "ann", Password: "secret:acme/default/web:token"}, nil,
		},
	}
	for _, tt := range tests {
		s := stageWith(t, tt.source, plan.State{}, rollNode)
		got, err := s.Text("<+artifact.imagePullSecret>")
		if err != nil {
			t.Fatal(err)
		}
		late := s.LateSecrets()[got]
		pull := named(s, late)
		if pull.Google != nil {
			pull.Google.Key = s.Secrets()[pull.Google.Key]
		}
		if diff := cmp.Diff(tt.want, pull); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.source, diff)
		}
		if diff := cmp.Diff(tt.selectors, late.Selectors); diff != "" {
			t.Errorf("who makes that of %s (-want +got):\n%s", tt.source, diff)
		}
	}
}

// semantics/entities §2.2: sidecars have the fields of the primary artifact.
func TestSidecars(t *testing.T) {
	t.Parallel()
	const fixed = "type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/nginx, tag: stable}}]}, " + // ends the list of sources
		"sidecars: [{sidecar: {identifier: proxy, type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/haproxy, tag: v-<+pipeline.variables.env>}}}], rest: {of: [{it: x"
	s := stageWith(t, fixed, plan.State{}, rollNode)
	tests := []struct{ text, want string }{
		{"<+artifacts.sidecars.proxy.image>", "index.docker.io/library/haproxy:v-dev"},
		{"<+artifacts.sidecars.proxy.tag> <+artifacts.sidecars.proxy.imagePath>", "v-dev library/haproxy"},
		{"<+artifacts.sidecars.proxy.primaryArtifact> <+artifact.primaryArtifact>", "false true"},
		{"<+artifact.image>", "index.docker.io/library/nginx:stable"},
		{"[<+artifacts.sidecars.proxy.imagePullSecret>]", "[]"},
	}
	for _, tt := range tests {
		if got, err := s.Text(tt.text); err != nil || got != tt.want {
			t.Errorf("%s is %q (%v); want %q", tt.text, got, err, tt.want)
		}
	}
	if _, err := s.Text("<+artifacts.sidecars.other.image>"); err == nil || !strings.Contains(err.Error(), `no sidecar artifact "other"`) {
		t.Errorf("an unknown sidecar: %v", err)
	}
}
