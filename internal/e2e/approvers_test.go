package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// Only the members of the step's groups answer, as the groups are now; another
// system finds the approval by its callback id (pipeline spec §7.7).
func TestApproversByGroup(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	group := func(users string) {
		s.Apply(t, "userGroup: {identifier: ops, name: ops, users: "+users+"}")
	}
	group("[ada, eve]")
	s.Apply(t, `pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [
  {step: {identifier: a, name: a, type: HarnessApproval, spec: {callbackId: cb-1, approvers: {minimumCount: 1, userGroups: [ops], disallowedUserEmails: [eve]}}}}]}}}}]}`)
	id := s.Begin(t, "p", nil)
	if e, err := s.Until(t.Context(), id, func(e e2e.Execution) bool { return e.Status == "ApprovalWaiting" }); err != nil {
		t.Fatalf("%v: %s", err, e.Status)
	}
	answer := func(user, callback string) error {
		return as(t, s, user).Call(t.Context(), "POST", "/v1/executions/"+id+"/approval?callbackId="+callback, map[string]any{"action": "APPROVE"}, nil)
	}
	for _, c := range []struct{ user, callback, refused string }{
		{"bob", "cb-1", "bob is in none of the groups that may answer: ops"},
		{"eve", "cb-1", "eve may not answer this approval"},
		{"ada", "cb-2", "0 steps of execution"},
	} {
		wantRefused(t, answer(c.user, c.callback), c.refused)
	}
	group("[bob]")
	wantRefused(t, answer("ada", "cb-1"), "ada is in none of the groups")
	if err := answer("bob", "cb-1"); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Until(t.Context(), id, e2e.Ended); err != nil || e.Status != "Success" {
		t.Fatalf("%v: %s: %s", err, e.Status, e.Message)
	}
}

func wantRefused(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v; want …%s", err, says)
	}
}
