package execution

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// bound is an execution that waits for an approval by two, which is bound to facts
// that aren't any more what they were.
func bound(t *testing.T, facts plan.Facts, activities ...plan.ApprovalActivity) *Service {
	t.Helper()
	ap := &plan.Approval{Groups: []string{"account._account_all_users"}, Minimum: 2, Question: "q", Activities: activities}
	must(t, ap.Bind("p", facts))
	s, _ := waiting(t, plan.State{Status: plan.ApprovalWaiting, Approval: ap})
	s.Sign = func(context.Context, []byte) ([]byte, string, error) { return []byte("signed"), "k1", nil }
	return s
}

// approvalOf is the approval as it is now.
func approvalOf(t *testing.T, s *Service) plan.Approval {
	t.Helper()
	nodes, err := s.Store.Nodes(t.Context(), "x1", "s.a")
	must(t, err)
	return *nodes[0].State.Approval
}

// Where what is deployed has changed since people were asked, an approval is refused
// and says what; it is asked anew, and what was answered before doesn't count.
func TestAChangeWhileWaitingIsAskedAnew(t *testing.T) {
	t.Parallel()
	s := bound(t, plan.Facts{"artifact of deploy": "web:1"}, plan.ApprovalActivity{User: "bo", Action: plan.Approve})
	first := approvalOf(t, s)
	answer := func(digest string) error {
		return s.Approve(t.Context(), "x1", "s.a", ApprovalAnswer{Action: plan.Approve, Digest: digest, By: audit.Author{Actor: "ann"}})
	}
	const says = `artifact of deploy was "web:1" and isn't known any more`
	for _, digest := range []string{first.Digest, first.Digest, ""} {
		if err := answer(digest); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), says) {
			t.Errorf("the digest %q: %v; want a conflict that says %s", digest, err, says)
		}
	}
	now := approvalOf(t, s)
	if len(now.Activities) > 0 || now.Digest == first.Digest {
		t.Errorf("asked anew: %+v", now)
	}
	must(t, answer(now.Digest))
	if got := approvalOf(t, s).Activities; len(got) != 1 || got[0].User != "ann" || got[0].Attestation == nil {
		t.Errorf("the answers: %+v", got)
	}
	trail, err := s.Store.ListAudit(t.Context(), "acme", 2, 10)
	must(t, err)
	if len(trail) != 2 || trail[0].Action != audit.Update || !strings.Contains(trail[0].After, says) || !strings.Contains(trail[1].Attestation, "payload") {
		t.Errorf("the trail: %+v", trail)
	}
}

// Who may not answer has nothing asked anew.
func TestAStrangerRenewsNothing(t *testing.T) {
	t.Parallel()
	s := bound(t, plan.Facts{"artifact of deploy": "web:1"})
	err := s.Approve(t.Context(), "x1", "s.a", ApprovalAnswer{Action: plan.Approve, Outside: true, By: audit.Author{Actor: "eve"}})
	if !fault.Is(err, fault.Forbidden) || approvalOf(t, s).Changed != nil {
		t.Errorf("%v, and asked anew because %q; want that eve may not", err, approvalOf(t, s).Changed)
	}
}

// Whoever says no says it to whatever is asked, be it what was shown, or asked anew since.
func TestARejectionNeedsNoFacts(t *testing.T) {
	t.Parallel()
	shown := approvalOf(t, bound(t, plan.Facts{"artifact of deploy": "web:1"})).Digest
	for _, anew := range []bool{false, true} {
		for _, digest := range []string{"", shown} {
			s := bound(t, plan.Facts{"artifact of deploy": "web:1"})
			if anew {
				err := s.Approve(t.Context(), "x1", "s.a", ApprovalAnswer{Action: plan.Approve, By: audit.Author{Actor: "bo"}})
				if !fault.Is(err, fault.Conflict) || approvalOf(t, s).Digest == shown {
					t.Fatalf("%v; want that it is asked anew", err)
				}
			}
			err := s.Approve(t.Context(), "x1", "s.a", ApprovalAnswer{Action: plan.Reject, Digest: digest, By: audit.Author{Actor: "ann"}})
			if fault.Is(err, fault.Conflict) || len(approvalOf(t, s).Activities) != 1 || approvalOf(t, s).Activities[0].Attestation != nil {
				t.Errorf("asked anew: %v, of %q: %v: %+v", anew, digest, err, approvalOf(t, s))
			}
		}
	}
}

// An approval says who, how that was proved, and of what.
func TestAnApprovalIsAttested(t *testing.T) {
	t.Parallel()
	s := bound(t, plan.Facts{})
	must(t, s.Approve(t.Context(), "x1", "s.a", ApprovalAnswer{
		Action: plan.Approve, Comments: "checked", By: audit.Author{Actor: "ann"}, Mail: "ann@example.com",
		Principal: store.EntityKey{Scope: ref.Scope{Account: "acme"}, Kind: ref.User, ID: "ann"}, Login: attest.Login{Method: "session", Provider: "corp", AMR: []string{"mfa"}},
	}))
	all, err := Attestations(t.Context(), s.Store, "x1")
	must(t, err)
	if len(all) != 1 || all[0].Node != "s.a" || all[0].Approver != "ann" {
		t.Fatalf("attestations: %+v", all)
	}
	tree, err := s.Describe(t.Context(), "x1", Part{})
	must(t, err)
	if shown := tree.Root.Children[0].Children[0].Approval.Activities; len(shown) != 1 || shown[0].Attestation != nil {
		t.Errorf("people see %+v", shown)
	}
}

// A service account answers where the step names it, and is in no group.
func TestServiceAccountsThatAnswer(t *testing.T) {
	t.Parallel()
	project := ref.Scope{Account: "acme", Org: "o", Project: "p"}
	kept := setup(t)
	group(t, kept, project, "leads", "ci")
	s := service(kept, time.Now)
	ci := Person{Name: "ci", Principal: store.EntityKey{Scope: project, Kind: ref.ServiceAccount, ID: "ci"}}
	starter := &store.Identity{Principal: ci.Principal}
	tests := []struct {
		name     string
		approval plan.Approval
		as       *store.Identity
		refused  bool
	}{
		{"named", plan.Approval{ServiceAccounts: []string{"bot", "ci"}}, nil, false},
		{"another one of that name", plan.Approval{ServiceAccounts: []string{"account.ci"}}, nil, true},
		{"not named, in a group of its name", plan.Approval{Groups: []string{"leads", "_project_all_users"}}, nil, true},
		{"named, and started it", plan.Approval{ServiceAccounts: []string{"ci"}, NotExecutor: true}, starter, true},
		{"named, and started it, where that doesn't matter", plan.Approval{ServiceAccounts: []string{"ci"}}, starter, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := s.mayAnswer(t.Context(), store.Execution{Scope: project, Actor: "somebody", As: tt.as}, tt.approval, ci)
			if fault.Is(err, fault.Forbidden) != tt.refused || !tt.refused && err != nil {
				t.Errorf("%v; refused should be %v", err, tt.refused)
			}
		})
	}
}
