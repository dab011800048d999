package e2e_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §5.6: people pause and resume an execution, and end steps
// by their word.
func TestPeopleSteer(t *testing.T) {
	t.Parallel()
	onEveryHost(t, peopleSteer)
}

func peopleSteer(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	dir := t.TempDir()
	hold := `until [ -e ` + dir + `/go ]; do sleep 0.05; done`
	ignored := strings.Replace(shell("forever", "sleep 600"), "{step: {", "{step: {failureStrategies: [{onFailure: {errors: [UserMarkedFailure], action: {type: Ignore}}}], ", 1)
	wait := "{step: {identifier: wait, name: wait, type: Wait, spec: {duration: 1h}}}"
	s.Apply(t, one("steered", strings.Join([]string{shell("first", hold), ignored, wait, shell("last", "true")}, ", "), ""))
	id := s.Begin(t, "steered", nil)
	status := func(node, want string) func(e2e.Execution) bool {
		return func(e e2e.Execution) bool { return e.Root.Find(node).Status == want }
	}
	until := func(what func(e2e.Execution) bool) e2e.Execution {
		t.Helper()
		e, err := s.Until(ctx, id, what)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	call := func(path string, body any) {
		t.Helper()
		if err := s.Call(ctx, "POST", "/v1/executions/"+id+path, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	until(status("first", "Running"))
	for range 2 { // again is no change
		call("/pause", nil)
	}
	if e := until(func(e2e.Execution) bool { return true }); e.Status != "Pausing" {
		t.Errorf("with a step that runs it is %s, want Pausing", e.Status)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := until(func(e e2e.Execution) bool { return e.Status == "Paused" }); e.Root.Find("forever").Status != "NotStarted" {
		t.Errorf("a step started in a paused execution: it is %s", e.Root.Find("forever").Status)
	}
	listed(t, s, id, "Paused")
	for range 2 {
		call("/resume", nil)
	}
	until(status("forever", "Running"))
	call("/nodes/forever/mark", map[string]string{"as": "Failed"})
	until(status("wait", "WaitStepRunning"))
	call("/nodes/wait/mark", map[string]string{"as": "Success"})
	if e := until(e2e.Ended); e.Status != "IgnoreFailed" || e.Root.Find("forever").Status != "IgnoreFailed" || e.Root.Find("wait").Status != "Success" {
		t.Errorf("it ended %s, the marked steps %s and %s", e.Status, e.Root.Find("forever").Status, e.Root.Find("wait").Status)
	}
	if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/last/mark", map[string]string{"as": "Failed"}, nil); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("marking what has ended: %v; want 409", err)
	}
}
