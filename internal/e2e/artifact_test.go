package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/api"
)

// shipped is a pipeline whose one step says in its exit code whether the
// artifact's names are what the environment variables of the test say.
const shipped = `pipeline:
  identifier: ship
  name: ship
  stages:
    - stage:
        identifier: deploy
        name: deploy
        type: Deployment
        spec:
          deploymentType: Kubernetes
          service: {serviceRef: shop, serviceInputs: {serviceDefinition: {spec: {artifacts: {primary: {sources: [{identifier: main, spec: {tag: %s}}]}}}}}}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: local}]}
          execution:
            steps:
              - step:
                  identifier: check
                  name: check
                  type: ShellScript
                  spec:
                    shell: Bash
                    onDelegate: true
                    source: {type: Inline, spec: {script: 'test "$IMAGE" = %s && echo "$SECRET" | base64 -d | grep -q %s'}}
                    environmentVariables:
                      - {name: IMAGE, type: String, value: <+artifact.image>}
                      - {name: SECRET, type: String, value: <+artifact.dockerConfigJsonSecret>}
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`

func TestArtifactsAreLookedUp(t *testing.T) {
	t.Parallel()
	onEveryHost(t, artifactsAreLookedUp)
}

func artifactsAreLookedUp(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	images := testservers.NewImages(t, true)
	images.Push(t, "team/web", "1.9", "1.10", "latest")
	s := start(t)
	guestbook(t, s, "web")
	s.Apply(t, fmt.Sprintf(`secret:
  identifier: robot
  name: robot
  type: SecretText
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: %s
---
connector:
  identifier: images
  name: images
  type: DockerRegistry
  spec:
    dockerRegistryUrl: %s
    providerType: Other
    auth: {type: UsernamePassword, spec: {username: %s, passwordRef: robot}}
---
service:
  identifier: shop
  name: shop
  serviceDefinition:
    type: Kubernetes
    spec:
      artifacts:
        primary:
          sources:
            - {identifier: main, type: DockerRegistry, spec: {connectorRef: images, imagePath: team/web, tag: <+input>}}
`, testservers.Password, images.URL, testservers.Username))

	for tag, want := range map[string]string{`"1.10"`: "1.10", `<+lastPublished.tag>.regex(1\..*)`: "1.9"} {
		s.Apply(t, fmt.Sprintf(shipped, tag, images.Host+"/team/web:"+want, testservers.Password))
		e := s.Run(t, "ship", nil)
		if e.Status != "Success" {
			t.Errorf("tag %s: %s: %s", tag, e.Status, e.Message)
		}
		looked := e.Root.Find("service")
		if fixed := tag == `"1.10"`; fixed != (looked == nil) || !fixed && looked.Message != images.Host+"/team/web:"+want {
			t.Errorf("tag %s was looked up by %+v", tag, looked)
		}
	}
	s.Apply(t, fmt.Sprintf(shipped, "<+lastPublished.tag>.regex(2.*)", "x", "x"))
	e := s.Run(t, "ship", nil)
	if check := e.Root.Find("check"); e.Status != "Failed" || !strings.Contains(e.Message, "matches 2.*: it has 3, the newest of which are latest, 1.9, 1.10") || check != nil && check.Status == "Success" {
		t.Errorf("without a match: %s: %s", e.Status, e.Message)
	}
}

// Sidecars are looked up with the primary artifact, or alone.
func TestSidecarsAreLookedUp(t *testing.T) {
	t.Parallel()
	onEveryHost(t, sidecarsAreLookedUp)
}

func sidecarsAreLookedUp(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	images := testservers.NewImages(t, false)
	images.Push(t, "team/web", "1.9", "1.10")
	images.Push(t, "team/logs", "2.1", "2.2", "latest")
	s := start(t)
	guestbook(t, s, "web")
	s.Apply(t, fmt.Sprintf("connector: {identifier: images, name: images, type: DockerRegistry, spec: {dockerRegistryUrl: %q, providerType: Other, auth: {type: Anonymous}}}\n", images.URL))
	for primary, want := range map[string]string{
		`tag: "1.10"`:    images.Host + "/team/web:1.10 " + images.Host + "/team/logs:2.2 2.2 3",
		`tagRegex: '.*'`: images.Host + "/team/web:1.9 " + images.Host + "/team/logs:2.2 2.2 3",
	} {
		s.Apply(t, fmt.Sprintf(`service:
  identifier: shop
  name: shop
  serviceDefinition:
    type: Kubernetes
    spec:
      artifacts:
        primary: {primaryArtifactRef: main, sources: [{identifier: main, type: DockerRegistry, spec: {connectorRef: images, imagePath: team/web, %s}}]}
        sidecars:
          - sidecar: {identifier: logs, type: DockerRegistry, spec: {connectorRef: images, imagePath: team/logs, tagRegex: '2\..*'}}
          - sidecar: {identifier: proxy, type: DockerRegistry, spec: {connectorRef: images, imagePath: team/proxy, tag: "3"}}
---
pipeline:
  identifier: ship
  name: ship
  stages:
    - stage:
        identifier: deploy
        name: deploy
        type: Deployment
        spec:
          deploymentType: Kubernetes
          service: {serviceRef: shop}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: local}]}
          execution:
            steps:
              - step:
                  identifier: check
                  name: check
                  type: ShellScript
                  spec:
                    shell: Bash
                    onDelegate: true
                    source: {type: Inline, spec: {script: 'echo "$FOUND"; test "$FOUND" = "%s"'}}
                    environmentVariables: [{name: FOUND, type: String, value: "<+artifact.image> <+artifacts.sidecars.logs.image> <+artifacts.sidecars.logs.tag> <+artifacts.sidecars.proxy.tag>"}]
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`, primary, want))
		e := s.Run(t, "ship", nil)
		looked := e.Root.Find("service")
		if e.Status != "Success" || looked == nil || !strings.HasSuffix(looked.Message, "logs "+images.Host+"/team/logs:2.2") {
			t.Errorf("%s: %s: %s, looked up: %+v", primary, e.Status, e.Message, looked)
		}
	}
}

// The versions of an artifact are listed by a delegate, whichever its service
// would choose.
func TestVersionsAreListed(t *testing.T) {
	t.Parallel()
	onEveryHost(t, versionsAreListed)
}

func versionsAreListed(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	images := testservers.NewImages(t, false)
	images.Push(t, "team/web", "1.8", "1.9")
	images.Push(t, "team/logs", "2.1")
	s := start(t)
	s.Apply(t, fmt.Sprintf(`connector: {identifier: images, name: images, type: DockerRegistry, spec: {dockerRegistryUrl: %q, providerType: Other, auth: {type: Anonymous}}}
---
service:
  identifier: shop
  name: shop
  serviceDefinition:
    type: Kubernetes
    spec:
      artifacts:
        primary: {primaryArtifactRef: main, sources: [{identifier: main, type: DockerRegistry, spec: {connectorRef: images, imagePath: team/web, tag: <+input>}}]}
        sidecars: [{sidecar: {identifier: logs, type: DockerRegistry, spec: {connectorRef: images, imagePath: team/logs, tag: "2.1"}}}]
`, images.URL))
	for _, tt := range []struct {
		source, status, message string
		limit                   int
		want                    []string
	}{
		{"", "Success", "", 20, []string{"1.9", "1.8"}},
		{"", "Success", "", 1, []string{"1.9"}},
		{"logs", "Success", "", 20, []string{"2.1"}},
		{"nothing", "Failed", `no artifact source or sidecar "nothing"`, 20, nil},
	} {
		var asked api.AskedVersions
		if err := s.Call(t.Context(), http.MethodPost, "/v1/services/shop/artifacts", api.AskVersions{Source: tt.source, Limit: tt.limit}, &asked); err != nil {
			t.Fatal(err)
		}
		finish(t, s, asked.Execution)
		var found api.ArtifactVersions
		if err := s.Call(t.Context(), http.MethodGet, "/v1/executions/"+asked.Execution+"/artifacts", nil, &found); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range found.Versions {
			got = append(got, v.Version)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || string(found.Status) != tt.status || !strings.Contains(found.Message, tt.message) {
			t.Errorf("%q is %s: %s (-want +got):\n%s", tt.source, found.Status, found.Message, diff)
		}
	}
}
