package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// TestSecretsWhereverTheyMayBeNamed: in scripts, their environment, variables,
// values files of the file store and of Git, and a config file of Git. What
// files brought is in the audit trail.
func TestSecretsWhereverTheyMayBeNamed(t *testing.T) {
	t.Parallel()
	onEveryHost(t, secretsWhereverTheyMayBeNamed)
}

const secretsYAML = `secret: {identifier: one, name: one, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: first-value}}
---
secret: {identifier: two, name: two, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: second-value}}
---
secret: {identifier: three, name: three, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: third-value}}
---
connector: {name: cluster, identifier: cluster, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}}}
---
connector: {name: repo, identifier: repo, type: Git, spec: {url: REPOSITORY, connectionType: Repo, type: Http, spec: {}}}
---
environment: {name: dev, identifier: dev, type: PreProduction}
---
infrastructureDefinition:
  {name: local, identifier: local, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: cluster, namespace: NAMESPACE, releaseName: secrets}}
---
service:
  name: web
  identifier: web
  serviceDefinition:
    type: Kubernetes
    spec:
      variables:
        - {name: typed, type: Secret, value: one}
      manifests:
        - manifest: {identifier: web, type: K8sManifest, spec: {store: {type: Git, spec: {connectorRef: repo, gitFetchType: Branch, branch: main, paths: [k8s]}}}}
        - manifest: {identifier: all, type: Values, spec: {store: {type: Harness, spec: {files: [/values.yaml]}}}}
      configFiles:
        - configFile: {identifier: app, spec: {store: {type: Git, spec: {connectorRef: repo, gitFetchType: Branch, branch: main, paths: [app.conf]}}}}
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
              - step: {identifier: roll, name: roll, type: K8sRollingDeploy, timeout: 2m, spec: {}}
              - step:
                  identifier: say
                  name: say
                  type: ShellScript
                  timeout: 2m
                  spec:
                    shell: Bash
                    environmentVariables:
                      - {name: ENV, type: String, value: '<+secrets.getValue("two")>'}
                    source:
                      type: Inline
                      spec:
                        script: |
                          spaced() { echo "$1 is $(printf %s "$2" | tr '-' ' ')"; }
                          spaced script '<+secrets.getValue("one")>'
                          spaced environment "$ENV"
                          spaced variable '<+serviceVariables.typed>'
                          spaced file '<+configFile.getAsString("app")>'
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`

func secretsWhereverTheyMayBeNamed(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	client := apiclient.New(s.URL, s.Token)
	f, err := ref.ParseFile("/values.yaml", ref.Scope{Org: s.Org, Project: s.Project})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutFile(t.Context(), f, []byte(`b: <+secrets.getValue("two")>`+"\n")); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string]string{
		"k8s/map.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {a: '{{.Values.a}}', b: '{{.Values.b}}', c: '{{.Values.c}}'}\n",
		"k8s/values.yaml": "a: <+serviceVariables.typed>\nb: none\nc: <+secrets.getValue(\"th\" + \"ree\")>\n",
		"app.conf":        `<+secrets.getValue("three")>`,
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Apply(t, strings.NewReplacer("REPOSITORY", serveGit(t, folder), "NAMESPACE", namespace).Replace(secretsYAML))
	e := run(t, s, "p", "Success", nil)
	got := kubectl(t, kubeconfig, namespace, "get", "configmap", "-o", "jsonpath={range .items[*]}{.data.a} {.data.b} {.data.c};{end}")
	if !strings.Contains(got, "first-value second-value third-value;") {
		t.Errorf("the ConfigMaps of the namespace have %q", got)
	}
	said := logOf(t, s, e.ID, e.Root.Find("say"))
	for _, want := range []string{"script is first value", "environment is second value", "variable is first value", "file is third value"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q isn't in the script's log:\n%s", want, said)
		}
	}
	all, err := apiclient.All(0, func(p apiclient.Page) ([]audit.Record, string, error) {
		return client.Audit(t.Context(), apiclient.AuditChoice{}, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(r audit.Record) bool { return r.Action != audit.Reveal || r.Scope.Project != s.Project })
	var told []string
	for _, r := range all {
		told = append(told, r.After)
		if strings.Contains(r.After, "-value") {
			t.Errorf("the audit trail has a value: %s", r.After)
		}
	}
	both := strings.Join(told, "\n")
	for step, names := range map[string]string{
		"roll": "namedInDocuments:\n  - \"secret:ACCOUNT/ORG/PROJECT:one\"\nnamedInFilesAlone:\n  - \"secret:ACCOUNT/ORG/PROJECT:three\"\n  - \"secret:ACCOUNT/ORG/PROJECT:two\"\n",
		"say":  "namedInFilesAlone:\n  - \"secret:ACCOUNT/ORG/PROJECT:three\"\n",
	} {
		names = strings.NewReplacer("ACCOUNT", all[0].Scope.Account, "ORG", s.Org, "PROJECT", s.Project).Replace(names)
		if !strings.Contains(both, "steps."+step+"\nattempt: 1\n"+names) {
			t.Errorf("of %s the audit trail says\n%s\nwant %s", step, both, names)
		}
	}
	if len(told) != 2 {
		t.Errorf("%d revelations are recorded, want two:\n%s", len(told), both)
	}
}
