package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// secretDocs are secrets of a project whose values are their identifiers,
// reversed.
func secretDocs(ids ...string) string {
	var b strings.Builder
	for _, id := range ids {
		value := []byte(id)
		slices.Reverse(value)
		fmt.Fprintf(&b, `secret:
  {type: SecretText, name: %[1]s, identifier: %[1]s, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: "%[2]s"}}
---
`, id, value)
	}
	return b.String()
}

// deployDocs deploy a service whose manifests and values are in Git.
const deployDocs = `connector: {name: cluster, identifier: cluster, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}}}
---
connector: {name: repo, identifier: repo, type: Git, spec: {url: "https://git.example.com/r.git", connectionType: Repo, type: Http, spec: {}}}
---
environment: {name: dev, identifier: dev, type: PreProduction}
---
infrastructureDefinition:
  {name: local, identifier: local, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: cluster, namespace: n, releaseName: r}}
---
service:
  name: web
  identifier: web
  serviceDefinition:
    type: Kubernetes
    spec:
      variables:
        - {name: typed, type: Secret, value: of_variable}
        - {name: spliced, type: String, value: '<+secrets.getValue("of_text")>'}
      manifests:
        - manifest: {identifier: web, type: K8sManifest, spec: {store: {type: Git, spec: {connectorRef: repo, gitFetchType: Branch, branch: main, paths: [k8s]}}}}
---
pipeline:
  identifier: p
  name: p
  stages:
    - stage:
        identifier: s
        name: s
        type: Deployment
        variables: [{name: v, type: String, value: 'x <+secrets.getValue("of_stage")>'}]
        spec:
          deploymentType: Kubernetes
          service: {serviceRef: web}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: local}]}
          execution:
            steps:
              - step: {identifier: STEP, name: STEP, type: STEP, timeout: 10m, spec: {SPEC}}
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`

// deploying is a control plane with a delegate that holds the task of a step of
// a deployment.
func deploying(t *testing.T, step, spec string, secrets ...string) (*control, task.Assignment) {
	t.Helper()
	return applying(t, secretDocs(secrets...)+strings.NewReplacer("STEP", step, "SPEC", spec).Replace(deployDocs))
}

// applying saves documents and starts their pipeline p, as deploying does.
func applying(t *testing.T, all string) (*control, task.Assignment) {
	t.Helper()
	c := serve(t)
	in := protocol.Register{ID: "d1", Name: "blue", Host: "h", Kinds: []task.Kind{kubernetes.Kind}, Capacity: 5}
	if got := c.post(c.dlg, "register", in, nil); got != http.StatusOK {
		t.Fatalf("register: status %d", got)
	}
	for _, doc := range strings.Split(all, "\n---\n") {
		if _, err := c.Save(t.Context(), apiclient.Document{Scope: project(), YAML: []byte(doc)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Start(t.Context(), project(), "p", api.StartExecution{}); err != nil {
		t.Fatal(err)
	}
	return c, c.claim("d1")
}

// resolve asks for texts and gives the status and the body.
func (c *control) resolve(a task.Assignment, texts ...string) (int, string) {
	c.t.Helper()
	in := protocol.Resolve{Fence: a.Fence, Texts: map[string]string{}}
	for i, text := range texts {
		in.Texts[fmt.Sprint(i)] = text
	}
	return c.say(taskPath("d1", a, "resolve"), in)
}

// say sends a delegate's request and gives the status and the body.
func (c *control) say(path string, in any) (int, string) {
	c.t.Helper()
	doc, err := json.Marshal(in)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/v1/delegate/"+path, bytes.NewReader(doc))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.dlg)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// revelations are the records of secrets that were given to delegates.
func (c *control) revelations() []audit.Record {
	c.t.Helper()
	all, err := apiclient.All(0, func(p apiclient.Page) ([]audit.Record, string, error) {
		return c.Audit(c.t.Context(), apiclient.AuditChoice{}, p)
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(r audit.Record) bool { return r.Action != audit.Reveal })
}

// TestFilesMayNameSecrets: a task that fetches values files is given what they
// name, and the audit trail says so before, once for the same question.
func TestFilesMayNameSecrets(t *testing.T) {
	t.Parallel()
	c, a := deploying(t, "K8sRollingDeploy", "", "of_variable", "of_text", "of_stage", "of_files")
	ask := []string{
		`a: <+serviceVariables.typed>`, `b: <+serviceVariables.spliced>`, `c: <+secrets.getValue("of_text")>`,
		`d: <+secrets.getValue("of_" + "files")>`, `e: <+secrets.getValue("of_variable")>`, `f: <+secrets.getValue("of_stage")>`,
	}
	for range 2 {
		status, body := c.resolve(a, ask...)
		var got protocol.Resolved
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v: %s", status, err, body)
		}
		values := slices.Sorted(maps.Values(got.Secrets))
		if diff := cmp.Diff([]string{"egats_fo", "elbairav_fo", "selif_fo", "txet_fo"}, values); diff != "" {
			t.Errorf("secrets (-want +got):\n%s", diff)
		}
	}
	if status, body := c.resolve(a, "no: secret"); status != http.StatusOK {
		t.Errorf("a text without secrets: status %d: %s", status, body)
	}
	got := c.revelations()
	if len(got) != 1 {
		t.Fatalf("%d revelations are recorded, want one: %+v", len(got), got)
	}
	want := fmt.Sprintf(`delegate: {name: "blue", id: "d1", host: "h"}
execution: %s
step: pipeline.stages.s.spec.execution.steps.K8sRollingDeploy
attempt: 1
namedInDocuments:
  - "secret:default/default/web:of_stage"
  - "secret:default/default/web:of_text"
  - "secret:default/default/web:of_variable"
namedInFilesAlone:
  - "secret:default/default/web:of_files"
`, a.Execution)
	if diff := cmp.Diff(want, got[0].After); diff != "" {
		t.Errorf("what is recorded (-want +got):\n%s", diff)
	}
	if got[0].ID != string(a.ID) || got[0].Request == "" || got[0].Actor == "" {
		t.Errorf("the record is %+v", got[0])
	}
	if status, body := c.resolve(a, ask[0]); status != http.StatusOK || len(c.revelations()) != 2 {
		t.Errorf("other secrets: status %d and %d records, want another one: %s", status, len(c.revelations()), body)
	}
}

// TestOnlyTasksThatFetchFilesAskForSecrets: nobody else has texts that the
// control plane doesn't know.
func TestOnlyTasksThatFetchFilesAskForSecrets(t *testing.T) {
	t.Parallel()
	for _, step := range []struct{ typ, spec string }{
		{"K8sScale", "workload: Deployment/web, instanceSelection: {type: Count, spec: {count: 1}}"},
		{"K8sRollingRollback", ""},
	} {
		t.Run(step.typ, func(t *testing.T) {
			t.Parallel()
			c, a := deploying(t, step.typ, step.spec, "of_text")
			for _, text := range []string{`<+secrets.getValue("of_text")>`, `<+serviceVariables.spliced>`, "<+pipeline.name>"} {
				status, body := c.resolve(a, text)
				if status != http.StatusForbidden || !strings.Contains(body, "has to be named in the step itself") {
					t.Errorf("%s: status %d, %s; want 403 with what to do", text, status, body)
				}
			}
			if got := c.revelations(); len(got) > 0 {
				t.Errorf("recorded: %+v", got)
			}
		})
	}
}

// TestSecretsOfOneQuestionAreBounded at the bound and one past it.
func TestSecretsOfOneQuestionAreBounded(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := range execution.MaxRevealed + 1 {
		ids = append(ids, fmt.Sprintf("s%d", i))
	}
	c, a := deploying(t, "K8sRollingDeploy", "", ids...)
	text := func(n int) string {
		var b strings.Builder
		for _, id := range ids[:n] {
			fmt.Fprintf(&b, "%s: <+secrets.getValue(%q)>\n", id, id)
		}
		return b.String()
	}
	if status, body := c.resolve(a, text(execution.MaxRevealed+1)); status != http.StatusRequestEntityTooLarge || len(c.revelations()) > 0 {
		t.Errorf("past the bound: status %d: %s", status, body)
	}
	if status, body := c.resolve(a, text(execution.MaxRevealed)); status != http.StatusOK || len(c.revelations()) != 1 {
		t.Errorf("at the bound: status %d: %s", status, body)
	}
}
