package execution

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/secret"
)

// A link is no entity: the trail tells it from what people save. Answering by
// it again, because the first answer woke nobody, ends the wait.
func TestALinkAnswersOnce(t *testing.T) {
	t.Parallel()
	s, runner := waiting(t, plan.State{Status: plan.ApprovalWaiting, Approval: &plan.Approval{Groups: []string{"account._account_all_users"}, Minimum: 1}})
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s.Secret = secret.New(key, s.Store, time.Now)
	link, _, err := s.MakeLink(t.Context(), LinkRequest{
		Execution: "x1", Node: "s.a", Approver: "bob", Valid: time.Hour, By: audit.Author{Actor: "ada"},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := func() error { return s.AnswerLink(t.Context(), link, ApprovalAnswer{Action: plan.Approve}) }
	if err := answer(); err == nil || fault.Is(err, fault.Conflict) {
		t.Fatalf("the first answer: %v; want that the wait couldn't be answered", err)
	}
	if err := answer(); !fault.Is(err, fault.Conflict) || !slices.Equal(runner.answered, []string{"token"}) {
		t.Errorf("the second answer: %v, and the answered waits are %q; want a conflict, and that the wait has ended", err, runner.answered)
	}
	trail, err := s.Store.ListAudit(t.Context(), "acme", 2, 10)
	if err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, r := range trail {
		did = append(did, r.Actor+" "+string(r.Action)+" "+r.Kind)
	}
	if diff := cmp.Diff([]string{"ada CREATE_LINK approval link", "bob APPROVE approval"}, did); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}
