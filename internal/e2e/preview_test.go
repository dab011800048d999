package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/api"
)

// A preview says what a deployment would change, changes nothing, and is none
// of the pipeline's executions.
func TestPreviewComparesAndChangesNothing(t *testing.T) {
	t.Parallel()
	onEveryHost(t, previewComparesAndChangesNothing)
}

func previewComparesAndChangesNothing(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	s.Apply(t, "secret:\n  identifier: word\n  name: word\n  type: SecretText\n  spec:\n    secretManagerIdentifier: harnessSecretManager\n    valueType: Inline\n    value: hush-hush\n")
	s.Apply(t, `pipeline:
  identifier: rolling
  name: rolling
  variables:
    - {name: image, type: String, value: <+input>}
    - {name: greeting, type: String, value: <+input>.default(hello)}
  stages:
    - stage: {identifier: build, name: build, type: Custom, spec: {execution: {steps: [{step: {identifier: fail, name: fail, type: ShellScript, spec: {shell: Bash, source: {type: Inline, spec: {script: exit 1}}}}}]}}, when: {pipelineStatus: Success, condition: "<+pipeline.variables.image> == \"never\""}}
    - stage:
        identifier: deploy
        name: deploy
        type: Deployment
        when: {pipelineStatus: Success, condition: "<+pipeline.stages.build.spec.execution.steps.fail.output.x> == \"y\" || true"}
        spec:
          deploymentType: Kubernetes
          service: {serviceRef: web}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: local}]}
          execution:
            steps:
              - step: {identifier: ok, name: ok, type: HarnessApproval, timeout: 1d, spec: {approvalMessage: go, approvers: {userGroups: [account.all], minimumCount: 1}}, when: {stageStatus: Success, condition: "<+pipeline.variables.image> == \"nobody\""}}
              - step: {identifier: roll, name: roll, type: K8sRollingDeploy, timeout: 1m, spec: {skipDryRun: false}}
            rollbackSteps: []
        failureStrategies:
          - onFailure: {errors: [AllErrors], action: {type: StageRollback}}
`)
	first := preview(t, s, "rolling", image("1"))
	if diff := cmp.Diff([]string{"ConfigMap/settings-1", "Service/web", "Deployment/web"}, first.Changed); diff != "" {
		t.Errorf("of the first deployment (-want +got):\n%s", diff)
	}
	if got := kubectl(t, kubeconfig, namespace, "get", "deployments,services,secrets,configmaps", "-o", "name"); strings.Contains(got, "web") || strings.Contains(got, "settings") {
		t.Errorf("the preview has made %s", got)
	}
	s.Apply(t, deployment("deployed", kubeStep("roll", "K8sRollingDeploy", "{skipDryRun: false}"), kubeStep("back", "K8sRollingRollback", "{}")))
	run(t, s, "deployed", "Success", image("1"))
	before := kubectl(t, kubeconfig, namespace, "get", "deployments,services,secrets,configmaps", "-o", "name")

	inputs := image("2")
	inputs["variables.greeting"] = `<+secrets.getValue("word")>`
	d := preview(t, s, "rolling", inputs)
	if !strings.Contains(d.Diff, "-      - image: nginx:1\n") && !strings.Contains(d.Diff, "-        image: nginx:1\n") || strings.Contains(d.Diff, "hush") {
		t.Errorf("the difference is\n%s", d.Diff)
	}
	if d.Deploys == nil || d.Deploys.Service != "web" || d.Deploys.Infrastructure != "local" || d.Deploys.Environment != "dev" {
		t.Errorf("it deploys %+v", d.Deploys)
	}
	after := kubectl(t, kubeconfig, namespace, "get", "deployments,services,secrets,configmaps", "-o", "name")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the preview has changed the cluster (-before +after):\n%s", diff)
	}
	var list api.ExecutionList
	if err := s.Call(t.Context(), http.MethodGet, "/v1/executions?pipeline=rolling", nil, &list); err != nil || len(list.Executions) > 0 {
		t.Errorf("%v, the pipeline has the executions %v", err, list.Executions)
	}
}

// preview compares a pipeline of one stage.
func preview(t *testing.T, s *e2e.Server, pipeline string, inputs map[string]string) difference {
	t.Helper()
	var p api.Preview
	if err := s.Call(t.Context(), http.MethodPost, "/v1/pipelines/"+pipeline+"/preview", map[string]any{"inputs": inputs}, &p); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	e, err := s.Until(ctx, p.Execution, e2e.Ended)
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Status string       `json:"status"`
		Stages []difference `json:"stages"`
	}
	if err := s.Call(t.Context(), http.MethodGet, "/v1/executions/"+p.Execution+"/differences", nil, &found); err != nil {
		t.Fatal(err)
	}
	if found.Status != "Success" || len(found.Stages) != 1 {
		t.Fatalf("the preview is %s: %s, with %+v", found.Status, e.Message, found.Stages)
	}
	return found.Stages[0]
}

// difference is what the tests read of a stage's preview.
type difference struct {
	Deploys *struct{ Service, Environment, Infrastructure string }
	Status  string
	Message string
	Changed []string
	Diff    string
}
