package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
)

// <+rollbackArtifact> is the artifact of the last deployment that succeeded:
// none before the first, and not that of one that failed.
func TestRollbackArtifact(t *testing.T) {
	t.Parallel()
	onEveryHost(t, rollbackArtifact)
}

func rollbackArtifact(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	_, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	s.Apply(t, `connector: {identifier: hub, name: hub, type: DockerRegistry, spec: {dockerRegistryUrl: "https://index.docker.io/v2/", providerType: DockerHub, auth: {type: Anonymous}}}
---
service:
  identifier: web
  name: web
  serviceDefinition:
    type: Kubernetes
    spec:
      artifacts:
        primary: {primaryArtifactRef: main, sources: [{identifier: main, type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/nginx, tag: <+pipeline.variables.tag>}}]}
        sidecars: [{sidecar: {identifier: proxy, type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/proxy, tag: "p<+pipeline.variables.tag>"}}}]
      manifests:
        - manifest: {identifier: app, type: K8sManifest, spec: {store: {type: Inline, spec: {content: "`+strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(manifests, `.Values.image`, `"<+artifact.image>"`), `"`, `\"`), "\n", `\n`)+`"}}}}
        - manifest: {identifier: values, type: Values, spec: {store: {type: Inline, spec: {content: "greeting: hello"}}}}
`)
	check := func(id string) string {
		return `- step: {identifier: ` + id + `, name: ` + id + `, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true,
   source: {type: Inline, spec: {script: 'test "$WAS" = "<+pipeline.variables.was>"'}},
   environmentVariables: [{name: WAS, type: String, value: "<+rollbackArtifact.tag> <+rollbackArtifact.imagePath> <+rollbackArtifact.sidecars.proxy.tag>"}]}}
`
	}
	s.Apply(t, strings.Replace(deployment("past", check("before")+strings.Replace(kubeStep("roll", "K8sRollingDeploy", "{skipDryRun: false}"), "1m", "20s", 1)+check("after"), check("undo")+kubeStep("back", "K8sRollingRollback", "{}")),
		"- {name: image, type: String, value: <+input>}", "- {name: tag, type: String, value: <+input>}\n    - {name: was, type: String, value: <+input>}", 1))
	for _, tt := range []struct{ tag, was, want string }{
		{"1", "null null null", "Success"},
		{"2", "1 library/nginx p1", "Success"},
		{"broken", "2 library/nginx p2", "Failed"},
		{"3", "2 library/nginx p2", "Success"},
	} {
		e := run(t, s, "past", tt.want, map[string]string{"variables.tag": tt.tag, "variables.was": tt.was})
		if undo := e.Root.Find("undo"); tt.want == "Failed" && (e.Root.Find("before").Status != "Success" || undo.Status != "Success") {
			t.Errorf("tag %s: before is %s, undo %s: %s", tt.tag, e.Root.Find("before").Status, undo.Status, undo.Message)
		}
	}
}
