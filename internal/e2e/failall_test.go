package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §5.4: with failAll a failure doesn't wait for the step of
// a parallel stage that deploys; its task is cancelled, and everything is
// undone.
func TestOneFailureFailsAll(t *testing.T) {
	t.Parallel()
	onEveryHost(t, oneFailureFailsAll)
}

func oneFailureFailsAll(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	guestbook(t, s, "web")
	// Nobody takes the deployment, so that it would wait for minutes.
	s.Apply(t, replace(`pipeline: {identifier: p, name: p, variables: [{name: image, type: String, value: x}, {name: greeting, type: String, value: x}], stages: [{parallel: [
  {stage: {identifier: one, name: one, type: Custom, failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: PipelineRollback, spec: {failAll: true}}}}],
    spec: {execution: {steps: [WAIT, BREAK]}}}},
  {stage: {identifier: two, name: two, type: Deployment, failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Ignore}}}],
    spec: {deploymentType: Kubernetes, service: {serviceRef: web}, environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: local}]},
    execution: {steps: [{step: {identifier: rollout, name: rollout, type: K8sRollingDeploy, timeout: 10m, spec: {skipDryRun: true, delegateSelectors: [nobody]}}}, NEVER], rollbackSteps: [BACK]}}}}]}]}`,
		"BREAK", shell("break", "exit 7"), "NEVER", shell("never", "true"), "BACK", shell("back", "true"),
		"WAIT", `{step: {identifier: go, name: go, type: HarnessApproval, timeout: 5m, spec: {approvalMessage: go, approvers: {userGroups: [_project_all_users], minimumCount: 1, disallowPipelineExecutor: false}}}}`))
	id := s.Begin(t, "p", nil)
	reaches(t, s, id, "rollout", "TaskWaiting")
	reaches(t, s, id, "go", "ApprovalWaiting")
	began := time.Now()
	approve(t, s, id, "go")
	e := reaches(t, s, id, "p", "Failed")
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("it took %s", took)
	}
	for node, want := range map[string]string{"rollout": "Failed", "two": "Failed", "back": "Success"} {
		if n := e.Root.Find(node); n.Status != want {
			t.Errorf("%s is %s, want %s", node, n.Status, want)
		}
	}
	if n := e.Root.Find("never"); n.Status != "NotStarted" {
		t.Errorf("what comes after the deployment is %s", n.Status)
	}
	if n := e.Root.Find("rollout"); !strings.Contains(n.Message, "failAll") {
		t.Errorf("the deployment says %q", n.Message)
	}
}
