package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// Only the members of the step's groups answer, as the groups are now; another
// system finds the approval by its callback id (semantics/pipeline §7.7).
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

// A link answers once, for one person and one question, until it expires, and
// can't be forged.
func TestApprovalLinks(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	s.Apply(t, "userGroup: {identifier: ops, name: ops, users: [ada, bob]}")
	s.Apply(t, `pipeline: {identifier: p, name: Release, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [
  {step: {identifier: a, name: a, type: HarnessApproval, spec: {approvalMessage: "go on?", approvers: {minimumCount: 2, userGroups: [ops]}, approverInputs: [{name: ticket, required: true}]}}}]}}}}]}`)
	id := s.Begin(t, "p", nil)
	if e, err := s.Until(t.Context(), id, func(e e2e.Execution) bool { return e.Status == "ApprovalWaiting" }); err != nil {
		t.Fatalf("%v: %s", err, e.Status)
	}
	link := func(by *e2e.Server, approver string) (string, error) {
		var made struct{ Path string }
		err := by.Call(t.Context(), "POST", "/v1/executions/"+id+"/nodes/a/approval/links", map[string]any{"approver": approver, "hours": 1}, &made)
		return made.Path, err
	}
	_, err := link(s, "eve")
	wantRefused(t, err, "eve is in none of the groups")
	anyone := &e2e.Server{URL: s.URL, Org: s.Org, Project: s.Project} // without a token
	answer := func(path string, body map[string]any) error { return anyone.Call(t.Context(), "POST", path, body, nil) }
	approve := map[string]any{"action": "APPROVE", "inputs": map[string]string{"ticket": "OPS-7"}}

	ada, err := link(s, "ada")
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		Pipeline, Message, Approver string
		Inputs                      []struct{ Name string }
	}
	for range 2 { // looking uses nothing up
		if err := anyone.Call(t.Context(), "GET", ada, nil, &shown); err != nil || shown.Pipeline != "Release" || shown.Message != "go on?" || shown.Approver != "ada" || len(shown.Inputs) != 1 {
			t.Errorf("%v: shown %+v", err, shown)
		}
	}
	wantRefused(t, answer(ada, map[string]any{"action": "APPROVE"}), "is required") // and a wrong answer neither
	parts := strings.Split(ada, ".")
	bob, err := link(s, "bob")
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string]string{
		"another's signature": strings.Join([]string{parts[0], strings.Split(bob, ".")[1], parts[2]}, "."),
		"no signature":        parts[0] + "." + parts[1] + ".",
		"another account":     strings.Replace(ada, "/approvals/", "/approvals/x", 1),
		"nonsense":            "/v1/approvals/x",
	} {
		if err := answer(forged, approve); err == nil || !strings.Contains(err.Error(), "the link isn't known") {
			t.Errorf("%s: %v; want that it isn't known", name, err)
		}
	}
	if err := answer(ada, approve); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, answer(ada, approve), "the link was used")
	if err := answer(bob, approve); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Until(t.Context(), id, e2e.Ended); err != nil || e.Status != "Success" {
		t.Fatalf("%v: %s: %s", err, e.Status, e.Message)
	}
	wantRefused(t, answer(bob, approve), "it doesn't wait for an approval: bob has decided APPROVE at ")
}
