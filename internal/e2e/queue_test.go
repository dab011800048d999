package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/api"
)

// reaches waits until a node of an execution has a status.
func reaches(t *testing.T, s *e2e.Server, id, node, status string) e2e.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	e, err := s.Until(ctx, id, func(e e2e.Execution) bool {
		n := e.Root.Find(node)
		return n != nil && n.Status == status && (n != e.Root || e.Status == status) // an execution ends after its root
	})
	if err != nil {
		doc, _ := json.MarshalIndent(e, "", " ") //nolint:errchkjson // for the message only
		t.Fatalf("%s of %s isn't %s: %v\n%s", node, id, status, err, doc)
	}
	return e
}

// ask is a step that waits for a person.
func ask(id string) string {
	return fmt.Sprintf(`{step: {identifier: %[1]s, name: %[1]s, type: HarnessApproval, timeout: 1h, spec: {approvalMessage: 'go on', approvers: {userGroups: [_project_all_users], minimumCount: 1, disallowPipelineExecutor: false}}}}`, id)
}

// listed waits until an execution is in the lists of a status, and then isn't in those of
// Running.
func listed(t *testing.T, s *e2e.Server, id, status string) {
	t.Helper()
	shown := func(asked string) string {
		var l api.ExecutionList
		if err := s.Call(t.Context(), "GET", fmt.Sprintf("/v1/executions?org=%s&project=%s&status=%s", s.Org, s.Project, asked), nil, &l); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(l.Executions, func(e api.Execution) bool { return e.ID == id })
		if i < 0 {
			return ""
		}
		return string(l.Executions[i].Status)
	}
	if _, err := s.Until(t.Context(), id, func(e2e.Execution) bool { return shown(status) == status }); err != nil {
		t.Fatalf("execution %s isn't listed as %s: %v", id, status, err)
	}
	if got := shown("Running"); got != "" {
		t.Errorf("execution %s, which is %s, is listed as %s", id, status, got)
	}
}

// semantics/pipeline §7.2: one at a time passes a Queue step of a key, in the
// order of asking, until its stage or pipeline has ended in any way; who gives
// up leaves the line, and who holds the key passes again.
func TestQueuesLetOnePass(t *testing.T) {
	t.Parallel()
	onEveryHost(t, queuesLetOnePass)
}

func queuesLetOnePass(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	queue := func(id, scope, timeout string) string {
		return fmt.Sprintf("{step: {identifier: %[1]s, name: %[1]s, type: Queue, timeout: %[3]s, spec: {key: '<+pipeline.variables.key>', scope: %[2]s}}}", id, scope, timeout)
	}
	key := ", variables: [{name: key, type: String, value: db}]"
	stage := func(id, steps string) string {
		return fmt.Sprintf("{stage: {identifier: %[1]s, name: %[1]s, type: Custom, spec: {execution: {steps: [%[2]s]}}}}", id, steps)
	}
	pipeline := func(id, stages string) string {
		return fmt.Sprintf("pipeline: {identifier: %[1]s, name: %[1]s, stages: [%[2]s]%[3]s}", id, stages, key)
	}
	s.Apply(t, strings.Join([]string{
		pipeline("whole", stage("s", queue("q", "Pipeline", "1h")+", "+queue("again", "Stage", "1h"))+", "+stage("later", ask("ask"))),
		pipeline("part", stage("s", queue("q", "Stage", "1h")+", "+ask("ask"))+", "+stage("later", ask("after"))),
		pipeline("hasty", stage("s", queue("q", "Stage", "10s"))),
		pipeline("broken", stage("s", queue("q", "Stage", "1h")+", "+ask("ask")+
			", {step: {identifier: breaks, name: breaks, type: Wait, when: {stageStatus: Success, condition: '1 + 1'}, spec: {duration: 1s}}}")),
	}, "\n---\n"))
	elsewhere := &e2e.Server{URL: s.URL, Token: s.Token, Org: s.Org, Project: "elsewhere", Poll: s.Poll}
	elsewhere.Apply(t, pipeline("part", stage("s", queue("q", "Stage", "1h")+", "+ask("ask"))))

	first := s.Begin(t, "whole", nil)
	reaches(t, s, first, "ask", "ApprovalWaiting") // beyond the stage with the queue
	second, gone := s.Begin(t, "part", nil), ""
	e := reaches(t, s, second, "q", "ResourceWaiting")
	if e.Status != "ResourceWaiting" {
		t.Errorf("the execution that waits is %s", e.Status)
	}
	listed(t, s, second, "ResourceWaiting")
	gone = s.Begin(t, "part", nil)
	reaches(t, s, gone, "q", "ResourceWaiting")
	third := s.Begin(t, "whole", nil)
	reaches(t, s, third, "q", "ResourceWaiting")
	hasty := s.Begin(t, "hasty", nil)
	reaches(t, s, hasty, "hasty", "Expired")

	if err := s.Call(t.Context(), "POST", "/v1/executions/"+gone+"/abort", nil, nil); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, gone, "part", "Aborted")
	approve(t, s, first, "ask")
	reaches(t, s, second, "ask", "ApprovalWaiting")
	reaches(t, s, third, "q", "ResourceWaiting")
	approve(t, s, second, "ask")
	reaches(t, s, third, "ask", "ApprovalWaiting") // although the second still runs
	reaches(t, s, second, "after", "ApprovalWaiting")
	approve(t, s, second, "after")
	approve(t, s, third, "ask")
	for pipeline, id := range map[string]string{"whole": third, "part": second} {
		reaches(t, s, id, pipeline, "Success")
	}

	// A key is the account's, and who fails gives it back, too.
	broken := s.Begin(t, "broken", nil)
	reaches(t, s, broken, "ask", "ApprovalWaiting")
	far := elsewhere.Begin(t, "part", nil)
	reaches(t, elsewhere, far, "q", "ResourceWaiting")
	approve(t, s, broken, "ask")
	reaches(t, s, broken, "broken", "Failed")
	reaches(t, elsewhere, far, "ask", "ApprovalWaiting")
	approve(t, elsewhere, far, "ask")
	reaches(t, elsewhere, far, "part", "Success")
}
