package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// ApprovalAnswer is a person's answer to an approval, or a service account's.
type ApprovalAnswer struct {
	Action   string // APPROVE or REJECT
	Comments string
	Inputs   map[string]string
	// Digest is of what was shown (plan.Approval.Digest). Empty only where the
	// caller shows nothing, such as a script; then what was asked at first is meant.
	Digest string
	By     audit.Author
	// Principal is who answers; none: nobody in particular, who may do everything.
	Principal store.EntityKey
	// Mail and Outside are as in Person.
	Mail    string
	Outside bool
	// Login is how it was proved who answers.
	Login attest.Login
	link  string // who made the link by which the answer comes; empty: there was none
}

// person is who answers.
func (a ApprovalAnswer) person() Person {
	return Person{Name: a.By.Actor, Mail: a.Mail, Outside: a.Outside, Principal: a.Principal}
}

// Approve counts a person's answer to a HarnessApproval step
// (semantics/pipeline §7.7): the first rejection ends it, the minimum of
// distinct approvers does.
func (s *Service) Approve(ctx context.Context, id string, node plan.NodeID, a ApprovalAnswer) error {
	return s.approve(ctx, id, node, a, func(*plan.State) error { return nil })
}

// approve counts an answer after a check.
func (s *Service) approve(ctx context.Context, id string, node plan.NodeID, a ApprovalAnswer, check func(*plan.State) error) error {
	if a.Action != plan.Approve && a.Action != plan.Reject {
		return fault.New(fault.Invalid, "action is %q; want APPROVE or REJECT", a.Action)
	}
	if a.Action == plan.Approve { // whoever says no says it to whatever is asked
		if err := s.renew(ctx, id, node, a); err != nil {
			return err
		}
	}
	d := &decision{node: node, by: a.By, action: audit.Approve, kind: "approval", after: a.Comments}
	if a.Action == plan.Reject {
		d.action = audit.Reject
	}
	return s.decide(ctx, id, d, func(e store.Execution, st *plan.State) (bool, error) {
		if err := asks(node, st); err != nil {
			return false, err
		}
		if err := check(st); err != nil {
			return false, err
		}
		if err := s.mayAnswer(ctx, e, *st.Approval, a.person()); err != nil {
			return false, err
		}
		ended, err := s.count(node, st, a)
		if err == nil {
			d.attestation, err = attested(ctx, s.Sign, e, node, st, a)
		}
		return ended, err
	})
}

// errUnchanged is the error of an edit that changes nothing.
var errUnchanged = errors.New("unchanged")

// renew asks anew, if what would be approved isn't any more what people are shown,
// and says what of it has changed. Who may not answer changes nothing.
func (s *Service) renew(ctx context.Context, id string, node plan.NodeID, a ApprovalAnswer) error {
	var changed []string
	d := &decision{node: node, by: a.By, action: audit.Update, kind: "approval"}
	err := s.decide(ctx, id, d, func(e store.Execution, st *plan.State) (bool, error) {
		changed = nil
		if asks(node, st) != nil || st.Approval.Question == "" { // of a release that bound to the question alone
			return false, errUnchanged
		}
		if s.mayAnswer(ctx, e, *st.Approval, a.person()) != nil {
			return false, errUnchanged // which is said when the answer is counted
		}
		facts, err := s.Engine.Reader.Facts(ctx, id)
		if err != nil {
			return false, err
		}
		if len(st.Approval.Facts.Changes(facts)) == 0 {
			return false, errUnchanged
		}
		ap := *st.Approval
		if err := ap.Renew(e.PlanHash, facts); err != nil {
			return false, err
		}
		st.Approval, changed = &ap, ap.Changed
		d.after = "asks anew: " + strings.Join(changed, "; ")
		return false, nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	return askedAnew(node, changed)
}

// askedAnew is the error of an answer to what isn't asked any more.
func askedAnew(node plan.NodeID, changed []string) error {
	return fault.New(fault.Conflict, "what is asked isn't what was shown: %s; look at %s again", strings.Join(changed, "; "), node)
}

// asks says whether a node waits for people's approval.
func asks(node plan.NodeID, st *plan.State) error {
	if st.Status != plan.ApprovalWaiting || st.Approval == nil || st.Outcome != nil {
		return tooLate(node, st, "an approval")
	}
	return nil
}

// count adds an answer to an approval; true when that ends it.
func (s *Service) count(node plan.NodeID, st *plan.State, a ApprovalAnswer) (bool, error) {
	ap := *st.Approval
	switch {
	case a.Action == plan.Reject: // whatever is asked
	case a.Digest == "" && len(ap.Changed) > 0:
		return false, askedAnew(node, append(slices.Clone(ap.Changed), "an answer must say of which digest it is"))
	case a.Digest != "" && a.Digest != ap.Digest && len(ap.Changed) > 0:
		return false, askedAnew(node, ap.Changed)
	case a.Digest != "" && a.Digest != ap.Digest:
		return false, fault.New(fault.Conflict, "what was approved isn't what is asked: look at %s again", node)
	}
	inputs, err := approverInputs(ap, a)
	if err != nil {
		return false, err
	}
	ap.Activities = slices.DeleteFunc(slices.Clone(ap.Activities), func(x plan.ApprovalActivity) bool { return strings.EqualFold(x.User, a.By.Actor) })
	ap.Activities = append(ap.Activities, plan.ApprovalActivity{
		User: a.By.Actor, Action: a.Action, Comments: a.Comments, Inputs: inputs, At: s.Now(), Link: a.link,
	})
	st.Approval, st.Decided = &ap, &plan.Decided{By: a.By.Actor, What: a.Action, At: s.Now()}
	st.Outcome, err = ap.Outcome()
	return st.Outcome != nil, err
}

// attested signs that the last answer approves what was shown, and keeps that with
// the answer.
func attested(ctx context.Context, sign attest.Sign, e store.Execution, node plan.NodeID, st *plan.State, a ApprovalAnswer) (string, error) {
	if sign == nil || a.Action != plan.Approve || st.Approval.Question == "" {
		return "", nil
	}
	ap := st.Approval
	last := &ap.Activities[len(ap.Activities)-1]
	who := attest.Approver{Type: "TOKEN", ID: a.By.Actor, Email: a.Mail, Login: a.Login, Link: a.link}
	switch a.Principal.Kind { //nolint:exhaustive // others are nobody's
	case ref.User:
		who.Type, who.ID = "USER", a.Principal.ID
	case ref.ServiceAccount:
		who.Type, who.ID = "SERVICE_ACCOUNT", ref.Ref{Scope: a.Principal.Scope, ID: a.Principal.ID}.Text(e.Scope)
	}
	if a.link != "" {
		who.Method = "link"
	}
	envelope, err := attest.Seal(ctx, attest.Approval{
		Approver: who, At: last.At.UTC(), Digest: ap.Digest, Comment: a.Comments, Inputs: last.Inputs,
		Account: e.Scope.Account, Org: e.Scope.Org, Project: e.Scope.Project, Pipeline: e.Pipeline, Execution: e.ID,
		Node: node, Attempt: cmp.Or(st.Attempt, 1), Message: ap.Message, Facts: ap.Facts,
	}, sign)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(envelope)
	if err != nil {
		return "", fmt.Errorf("encode the attestation: %w", err)
	}
	last.Attestation = text
	return string(text), nil
}

// Attestation is one of an approval in an execution.
type Attestation struct {
	Node     plan.NodeID     `json:"node"`
	Approver string          `json:"approver" doc:"As the audit trail names who approved"`
	Envelope attest.Envelope `json:"envelope" doc:"A statement in the form of in-toto, signed (DSSE)"`
}

// Attestations are those of an execution's approvals, by their steps. What an
// earlier attempt of a step was approved with, the audit trail alone has.
func Attestations(ctx context.Context, kept store.Executions, id string) ([]Attestation, error) {
	nodes, err := kept.AllNodes(ctx, id)
	if err != nil {
		return nil, err
	}
	out := []Attestation{}
	for _, n := range nodes {
		if n.State.Approval == nil {
			continue
		}
		for _, a := range n.State.Approval.Activities {
			if a.Attestation == nil {
				continue
			}
			one := Attestation{Node: n.ID, Approver: a.User}
			if err := json.Unmarshal(a.Attestation, &one.Envelope); err != nil {
				return nil, fmt.Errorf("decode the attestation of %s: %w", n.ID, err)
			}
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(x, y Attestation) int { return cmp.Compare(x.Node, y.Node) })
	return out, nil
}
