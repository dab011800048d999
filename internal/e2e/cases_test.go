package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// as is the server as another person sees it.
func as(t *testing.T, s *e2e.Server, actor string) *e2e.Server {
	t.Helper()
	var made struct{ Secret string }
	if err := s.Call(t.Context(), "POST", "/v1/tokens", map[string]string{"kind": "user", "name": actor, "actor": actor}, &made); err != nil {
		t.Fatal(err)
	}
	return &e2e.Server{URL: s.URL, Token: made.Secret, Org: s.Org, Project: s.Project, Poll: s.Poll}
}

// semantics/pipeline §14.31 and §14.32: distinct people must approve, whoever
// started the execution may be kept from it, and the last one's inputs count.
func TestCases31And32TwoPeopleApprove(t *testing.T) {
	t.Parallel()
	onEveryHost(t, twoPeopleApprove)
}

func twoPeopleApprove(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	ask := `{step: {identifier: ask, name: ask, type: HarnessApproval, timeout: 5m, spec: {approvalMessage: 'go on', includePipelineExecutionHistory: true,
  approvers: {userGroups: [_project_all_users], minimumCount: 2, disallowPipelineExecutor: true}, approverInputs: [{name: where, defaultValue: eu}]}}}`
	s.Apply(t, one("p", ask+", "+shell("use", `[ "<+execution.steps.ask.output.approverInputs.where>" = us ]`), ""))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	if _, err := s.Until(ctx, id, func(e e2e.Execution) bool { return e.Root.Find("ask").Status == "ApprovalWaiting" }); err != nil {
		t.Fatal(err)
	}
	listed := func(status string) int {
		var list struct{ Executions []struct{ Status string } }
		if err := s.Call(ctx, "GET", "/v1/executions?org=default&project=default_project&status="+status, nil, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Executions)
	}
	if waiting, running := listed("ApprovalWaiting"), listed("Running"); waiting != 1 || running != 0 {
		t.Errorf("while it waits, %d are listed as ApprovalWaiting and %d as Running; want 1 and 0", waiting, running)
	}
	approve := func(who *e2e.Server, where string) error {
		return who.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/ask/approval", map[string]any{"action": "APPROVE", "inputs": map[string]string{"where": where}}, nil)
	}
	if err := approve(s, "eu"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("whoever started it approves: %v; want 403", err)
	}
	bob, eve := as(t, s, "bob"), as(t, s, "eve")
	for range 2 { // the same person twice is one
		if err := approve(bob, "asia"); err != nil {
			t.Fatal(err)
		}
	}
	if e, err := s.Get(ctx, id); err != nil || e.Root.Find("ask").Status != "ApprovalWaiting" {
		t.Fatalf("after one person: %v, %s", err, e.Root.Find("ask").Status)
	}
	if err := approve(eve, "us"); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Until(ctx, id, e2e.Ended); err != nil || e.Status != "Success" {
		t.Errorf("%v, %s: %s", err, e.Status, e.Message)
	}
	if waiting := listed("ApprovalWaiting"); waiting != 0 {
		t.Errorf("at the end %d are listed as ApprovalWaiting; want none", waiting)
	}
}

// semantics/pipeline §14.33: a script that leaves by itself succeeds without
// its outputs; one that fails has none.
func TestCase33ScriptsThatExit(t *testing.T) {
	t.Parallel()
	onEveryHost(t, scriptsThatExit)
}

func scriptsThatExit(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	step := func(script string) string {
		return fmt.Sprintf("{step: {identifier: set, name: set, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: X, type: String, value: X}], source: {type: Inline, spec: {script: %q}}}}}", script)
	}
	read := shell("read", `[ "<+execution.steps.set.output.outputVariables.X>" = null ] || [ -z "<+execution.steps.set.output.outputVariables.X>" ]`)
	s.Apply(t, one("leaves", step("X=1; exit 0")+", "+read, ""))
	run(t, s, "leaves", "Success", nil)
	s.Apply(t, one("fails", step("X=1; exit 3"), ""))
	if e := run(t, s, "fails", "Failed", nil); e.Root.Find("set").Status != "Failed" {
		t.Errorf("the step is %s", e.Root.Find("set").Status)
	}
}
