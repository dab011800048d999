package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testservers"
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
