package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// TestFileStore deploys manifests and values of the file store, and runs a
// script of it that reads config files of it and of a Git repository. All of
// the stage sees the files as they were, though a step of it changes them.
func TestFileStore(t *testing.T) {
	t.Parallel()
	onEveryHost(t, fileStore)
}

const fileStoreYAML = `connector: {name: cluster, identifier: cluster, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}}}
---
connector: {name: repo, identifier: repo, type: Git, spec: {url: REPOSITORY, connectionType: Repo, type: Http, spec: {}}}
---
environment: {name: dev, identifier: dev, type: PreProduction}
---
infrastructureDefinition:
  {name: local, identifier: local, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: cluster, namespace: NAMESPACE, releaseName: files}}
---
service:
  name: web
  identifier: web
  serviceDefinition:
    type: Kubernetes
    spec:
      manifests:
        - manifest:
            identifier: web
            type: K8sManifest
            spec:
              store: {type: Harness, spec: {files: [/k8s]}}
              valuesPaths: [/values/<+env.name>.yaml]
        - manifest: {identifier: all, type: Values, spec: {store: {type: Harness, spec: {files: [account:/values.yaml]}}}}
      configFiles:
        - configFile: {identifier: stored, spec: {store: {type: Harness, spec: {files: [/app.conf]}}}}
        - configFile: {identifier: git, spec: {store: {type: Git, spec: {connectorRef: repo, gitFetchType: Branch, branch: main, paths: [k8s/values.yaml]}}}}
---
pipeline:
  identifier: p
  name: p
  stages:
    - stage:
        identifier: s
        name: s
        type: Deployment
        spec:
          deploymentType: Kubernetes
          service: {serviceRef: web}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: local}]}
          execution:
            steps:
              - step: {identifier: roll, name: roll, type: K8sRollingDeploy, timeout: 1m, spec: {}}
              - step:
                  identifier: change
                  name: change
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    source:
                      type: Inline
                      spec:
                        script: |
                          put() { curl -sSf -X PUT -H "Authorization: Bearer TOKEN" -H "Content-Type: application/octet-stream" --data-binary "$1" "URL/v1/files/content?org=ORG&$2"; }
                          put "a: two" "project=PROJECT&path=/k8s/values.yaml"
                          put "changed" "project=PROJECT&path=/app.conf"
                          put "echo it says something else" "path=/say.sh"
                          put "made" "project=PROJECT&path=/made"
              - step: {identifier: again, name: again, type: K8sRollingDeploy, timeout: 1m, spec: {}}
              - step: {identifier: say, name: say, type: ShellScript, timeout: 1m, spec: {shell: Bash, source: {type: Harness, spec: {file: org:/say.sh}}}}
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`

func fileStore(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	project := ref.Scope{Org: s.Org, Project: s.Project}
	client := apiclient.New(s.URL, s.Token)
	for path, content := range map[string]string{
		"/k8s/map.yaml":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {a: '{{.Values.a}}', b: '{{.Values.b}}', c: '{{.Values.c}}'}\n",
		"/k8s/values.yaml":     "a: one\nb: one\nc: one\n",
		"/values/dev.yaml":     "b: <+service.name>\nc: two\n",
		"account:/values.yaml": "c: three\n",
		"/app.conf":            "stored for <+env.name>",
		"org:/say.sh": `echo "<+configFile.getAsString("stored")>"
echo "<+configFile.getAsBase64("git")>" | base64 -d
echo "<+fileStore.getAsString("/values/dev.yaml")>"
echo "<+fileStore.getAsString("/made")> by the stage"
`,
	} {
		f, err := ref.ParseFile(path, project)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.PutFile(t.Context(), f, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	repository := serveGit(t, webFolder+"/repo")
	s.Apply(t, strings.NewReplacer("REPOSITORY", repository, "NAMESPACE", namespace, "TOKEN", s.Token, "URL", s.URL, "ORG", s.Org, "PROJECT", s.Project).Replace(fileStoreYAML))
	e := run(t, s, "p", "Success", nil)
	said := logOf(t, s, e.ID, e.Root.Find("say"))
	values := read(t, webFolder+"/repo/k8s/values.yaml")
	first, _, _ := strings.Cut(strings.TrimSpace(values), "\n")
	for _, want := range []string{"stored for dev", first, "b: web", "made by the stage"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q isn't in the script's log:\n%s", want, said)
		}
	}
	got := kubectl(t, kubeconfig, namespace, "get", "configmap", "-o", "jsonpath={range .items[*]}{.data.a} {.data.b} {.data.c};{end}")
	if !strings.Contains(got, "one web three;") {
		t.Errorf("the ConfigMaps of the namespace have %q", got)
	}
	e = run(t, s, "p", "Success", nil)
	if said := logOf(t, s, e.ID, e.Root.Find("say")); !strings.Contains(said, "it says something else") {
		t.Errorf("the next execution's script says:\n%s", said)
	}
	got = kubectl(t, kubeconfig, namespace, "get", "configmap", "-o", "jsonpath={range .items[*]}{.data.a} {.data.b} {.data.c};{end}")
	if !strings.Contains(got, "two web three;") {
		t.Errorf("after the next execution the ConfigMaps of the namespace have %q", got)
	}
}

// TestFilesExample runs examples/files as its README says.
func TestFilesExample(t *testing.T) {
	t.Parallel()
	const folder = "../../examples/files"
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	client := apiclient.New(s.URL, s.Token)
	for _, name := range []string{"report.sh", "report.txt"} {
		f := ref.File{Scope: ref.Scope{Org: s.Org, Project: s.Project}, Path: "/scripts/" + name}
		if _, err := client.PutFile(t.Context(), f, []byte(read(t, folder+"/scripts/"+name))); err != nil {
			t.Fatal(err)
		}
	}
	s.Apply(t, read(t, folder+"/report.yaml"))
	e := run(t, s, "report", "Success", nil)
	log := logOf(t, s, e.ID, e.Root.Find("say"))
	for _, want := range []string{"Report of Report", "Execution 1 was started by admin."} {
		if !strings.Contains(log, want) {
			t.Errorf("%q isn't in the log:\n%s", want, log)
		}
	}
}
