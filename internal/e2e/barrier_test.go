package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §7.1: stages that run at the same time wait for each
// other at a barrier; who can't come isn't waited for; who fails before it
// comes makes the others fail, whose own strategies decide what follows.
func TestBarriersMeet(t *testing.T) {
	t.Parallel()
	onEveryHost(t, barriersMeet)
}

func barriersMeet(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	meet := "{step: {identifier: meet, name: meet, type: Barrier, timeout: 5m, spec: {barrierRef: ready}, failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Ignore}}}]}}"
	stage := func(id, when string, steps ...string) string {
		return fmt.Sprintf("{stage: {identifier: %[1]s, name: %[1]s, type: Custom, spec: {execution: {steps: [%[2]s]}}%[3]s}}", id, strings.Join(steps, ", "), when)
	}
	fails := shell("breaks", "exit 1")
	pipeline := func(id string, stages ...string) string {
		return fmt.Sprintf("pipeline: {identifier: %[1]s, name: %[1]s, flowControl: {barriers: [{identifier: ready, name: Ready}]}, stages: [{parallel: [%[2]s]}]}", id, strings.Join(stages, ", "))
	}
	never := ", when: {pipelineStatus: Success, condition: 'false'}"
	s.Apply(t, strings.Join([]string{
		pipeline("good", stage("a", "", ask("ask"), meet, ask("after")), stage("b", "", meet), stage("c", never, meet)),
		pipeline("bad", stage("a", "", ask("ask"), fails, meet), stage("b", "", meet, shell("after", "true"))),
	}, "\n---\n"))

	good := s.Begin(t, "good", nil)
	b := func(e e2e.Execution) *e2e.Node { return e.Root.Find("b").Find("meet") }
	until := func(id, status string) e2e.Execution {
		t.Helper()
		e, err := s.Until(t.Context(), id, func(e e2e.Execution) bool { return e2e.Ended(e) || b(e) != nil && b(e).Status == status })
		if err != nil || b(e).Status != status {
			t.Fatalf("the step of stage b is %s; want %s: %v", b(e).Status, status, err)
		}
		return e
	}
	until(good, "ResourceWaiting")
	reaches(t, s, good, "ask", "ApprovalWaiting")
	approve(t, s, good, "ask")
	e := reaches(t, s, good, "after", "ApprovalWaiting")
	if got := e.Root.Find("a").Find("meet").Status; got != "Success" {
		t.Errorf("the step of stage a is %s", got)
	}
	until(good, "Success")
	approve(t, s, good, "after")
	reaches(t, s, good, "good", "Success")

	bad := s.Begin(t, "bad", nil)
	until(bad, "ResourceWaiting")
	reaches(t, s, bad, "ask", "ApprovalWaiting")
	approve(t, s, bad, "ask")
	e = until(bad, "IgnoreFailed")
	if got, want := b(e).Message, "barrier ready: step meet of stage a won't come after a failure"; got != want {
		t.Errorf("it says %q; want %q", got, want)
	}
	e = reaches(t, s, bad, "bad", "Failed")
	if got := e.Root.Find("after").Status; got != "Success" {
		t.Errorf("what follows the failure that was ignored is %s", got)
	}
}
