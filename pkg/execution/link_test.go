package execution

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
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

// semantics/pipeline §7.7: a link opens no way around who may answer: it counts whom the
// user of its name is by mail address, and whether that one is still a user who may do
// anything, when it is made and when it is used.
func TestALinkIsOfTheUserOfItsName(t *testing.T) {
	t.Parallel()
	account := ref.Scope{Account: "acme"}
	save := func(s *Service, kind ref.Kind, id, more string, version int64) {
		t.Helper()
		doc := string(kind) + ": {identifier: " + id + ", name: " + id + ", " + more + "}"
		_, err := s.Store.SaveEntity(t.Context(), store.Entity{Key: store.EntityKey{Scope: account, Kind: kind, ID: id}, Version: version, YAML: []byte(doc)}, audit.Record{Scope: account})
		must(t, err)
	}
	tests := []struct {
		name     string
		approval plan.Approval
		after    func(*Service) // the link was made
		made     string         // why it isn't made; empty: it is
		answered string         // why an answer by it is refused; empty: it counts
	}{
		{name: "somebody whom the address refuses", approval: plan.Approval{Groups: []string{"account._account_all_users"}, Refused: []string{"Bob@example.com"}}, made: "bob may not answer"},
		{name: "in a group by the address", approval: plan.Approval{Groups: []string{"account.leads"}}},
		{
			name: "disabled meanwhile", approval: plan.Approval{Groups: []string{"account._account_all_users"}}, answered: "the user bob is disabled",
			after: func(s *Service) { save(s, ref.User, "bob", "disabled: true", 1) },
		},
		{
			name: "taken out of the group meanwhile", approval: plan.Approval{Groups: []string{"account.leads"}}, answered: "bob is in none of the groups",
			after: func(s *Service) { save(s, ref.UserGroup, "leads", "userEmails: [cy@example.com]", 1) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.approval.Minimum = 2
			s, _ := waiting(t, plan.State{Status: plan.ApprovalWaiting, Approval: &tt.approval})
			key, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
			must(t, err)
			s.Secret = secret.New(key, s.Store, time.Now)
			save(s, ref.User, "bob", "email: bob@example.com", 0)
			save(s, ref.UserGroup, "leads", "userEmails: [bob@example.com]", 0)
			refused := func(err error, why string) {
				t.Helper()
				if why == "" && err != nil || why != "" && (!fault.Is(err, fault.Forbidden) || !strings.HasPrefix(err.Error(), why)) {
					t.Errorf("%v; want %q", err, why)
				}
			}
			link, _, err := s.MakeLink(t.Context(), LinkRequest{Execution: "x1", Node: "s.a", Approver: "bob", Valid: time.Hour, By: audit.Author{Actor: "ada"}})
			if refused(err, tt.made); err != nil {
				return
			}
			if tt.after != nil {
				tt.after(s)
			}
			refused(s.AnswerLink(t.Context(), link, ApprovalAnswer{Action: plan.Approve}), tt.answered)
		})
	}
}

// Case makes no other person of somebody: one answer of each counts, the last.
func TestOnePersonIsCountedOnce(t *testing.T) {
	t.Parallel()
	s, _ := waiting(t, plan.State{Status: plan.ApprovalWaiting, Approval: &plan.Approval{Groups: []string{"account._account_all_users"}, Minimum: 2}})
	for _, who := range []string{"bob", "BOB"} {
		must(t, s.Approve(t.Context(), "x1", "s.a", ApprovalAnswer{Action: plan.Approve, By: audit.Author{Actor: who}}))
	}
	nodes, err := s.Store.Nodes(t.Context(), "x1", "s.a")
	must(t, err)
	if ap := nodes[0].State.Approval; len(ap.Activities) != 1 || nodes[0].State.Outcome != nil {
		t.Errorf("%d answers count, and the outcome is %+v; want one, and none", len(ap.Activities), nodes[0].State.Outcome)
	}
}
