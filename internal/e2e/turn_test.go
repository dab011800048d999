package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// asks is a pipeline whose Deployment stages wait for a person, each for a
// service.
func asks(id string, services ...string) string {
	var stages []string
	for i, service := range services {
		stages = append(stages, fmt.Sprintf(`{stage: {identifier: d%[1]d, name: d%[1]d, type: Deployment, spec: {deploymentType: Kubernetes, service: {serviceRef: %[2]s},
  environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: local}]},
  execution: {steps: [{step: {identifier: ask%[1]d, name: ask%[1]d, type: HarnessApproval, timeout: 1h, spec: {approvalMessage: 'go on', approvers: {userGroups: [_project_all_users], minimumCount: 1, disallowPipelineExecutor: false}}}}]}},
  failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]}}`, i, service))
	}
	return fmt.Sprintf("pipeline: {identifier: %[1]s, name: %[1]s, stages: [{parallel: [%[2]s]}]}", id, strings.Join(stages, ", "))
}

// Entities spec, case 26: of one service on one infrastructure one stage
// deploys at a time, in the order of asking, within a pipeline and across
// pipelines; another service doesn't wait.
func TestCase26DeploymentsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	onEveryHost(t, case26DeploymentsWaitForTheirTurn)
}

func case26DeploymentsWaitForTheirTurn(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	guestbook(t, s, "web")
	s.Apply(t, "service: {identifier: other, name: other, serviceDefinition: {type: Kubernetes, spec: {}}}")
	s.Apply(t, asks("first", "web")+"\n---\n"+asks("both", "web", "other")+"\n---\n"+asks("last", "web"))
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	until := func(id, node, status string) {
		t.Helper()
		e, err := s.Until(ctx, id, func(e e2e.Execution) bool {
			n := e.Root.Find(node)
			return n != nil && n.Status == status
		})
		if err != nil {
			doc, _ := json.MarshalIndent(e, "", " ") //nolint:errchkjson // for the message only
			t.Fatalf("%s of %s: %v\n%s", node, id, err, doc)
		}
	}
	approve := func(id, node string) {
		t.Helper()
		until(id, node, "ApprovalWaiting")
		if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/"+node+"/approval", map[string]string{"action": "APPROVE"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	first := s.Begin(t, "first", nil)
	until(first, "ask0", "ApprovalWaiting")
	both := s.Begin(t, "both", nil)
	until(both, "d0", "ResourceWaiting")
	until(both, "ask1", "ApprovalWaiting") // the other service doesn't wait
	aborted, last := s.Begin(t, "last", nil), ""
	until(aborted, "d0", "ResourceWaiting")
	last = s.Begin(t, "last", nil)
	until(last, "d0", "ResourceWaiting")

	if err := s.Call(ctx, "POST", "/v1/executions/"+aborted+"/abort", nil, nil); err != nil {
		t.Fatal(err)
	}
	until(aborted, "last", "Aborted") // who waits can go away
	approve(first, "ask0")
	until(both, "ask0", "ApprovalWaiting") // the next in the queue
	until(last, "d0", "ResourceWaiting")
	if err := s.Call(ctx, "POST", "/v1/executions/"+both+"/abort", nil, nil); err != nil {
		t.Fatal(err)
	}
	approve(last, "ask0") // however the one before it ended
	until(last, "last", "Success")
	until(first, "first", "Success")
}
