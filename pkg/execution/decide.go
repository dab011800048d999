package execution

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// interventions are the answers to a manual intervention
// (semantics/pipeline §5.3).
func interventions() []plan.ActionType {
	return []plan.ActionType{
		plan.MarkAsSuccess, plan.Ignore, plan.Retry, plan.Abort, plan.StageRollback, plan.MarkAsFailure,
		plan.PipelineRollback, plan.StepGroupRollback,
	}
}

// Intervene answers a step that waits for a manual intervention.
func (s *Service) Intervene(ctx context.Context, id string, node plan.NodeID, action plan.ActionType, by audit.Author) error {
	if !slices.Contains(interventions(), action) {
		return fault.New(fault.Invalid, "action is %q; want one of %v", action, interventions())
	}
	if action == plan.StepGroupRollback {
		if err := s.inGroup(ctx, id, node); err != nil {
			return err
		}
	}
	d := decision{node: node, by: by, action: audit.Intervene, kind: "intervention", after: string(action)}
	return s.decide(ctx, id, d, func(_ store.Execution, st *plan.State) (bool, error) {
		if st.Status != plan.InterventionWaiting || st.Outcome == nil {
			return false, tooLate(node, st, "an intervention")
		}
		if st.Outcome.Decision != "" && st.Outcome.Decision != action {
			return false, tooLate(node, st, "another intervention")
		}
		o := *st.Outcome
		o.Decision = action
		st.Outcome, st.Decided = &o, &plan.Decided{By: by.Actor, What: string(action), At: s.Now()}
		return true, nil
	})
}

// inGroup refuses what only a step in a group can be told.
func (s *Service) inGroup(ctx context.Context, id string, node plan.NodeID) error {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return err
	}
	p, err := s.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return err
	}
	for n := p.Node(node); n != nil; n = n.Parent() {
		if n.Kind == plan.KindGroup {
			return nil
		}
	}
	return fault.New(fault.Invalid, "%s isn't in a step group; StepGroupRollback is for one", node)
}

// ApprovalAnswer is a person's answer to an approval.
type ApprovalAnswer struct {
	Action   string // APPROVE or REJECT
	Comments string
	Inputs   map[string]string
	// Digest is of what was shown (plan.Approval.Digest). Empty only where the
	// caller shows nothing, such as a script; then the current one is meant.
	Digest string
	By     audit.Author
	// Mail and Outside are as in Person.
	Mail    string
	Outside bool
	link    string // who made the link by which the answer comes; empty: there was none
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
	d := decision{node: node, by: a.By, action: audit.Approve, kind: "approval", after: a.Comments}
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
		if err := s.mayAnswer(ctx, e, *st.Approval, Person{Name: a.By.Actor, Mail: a.Mail, Outside: a.Outside}); err != nil {
			return false, err
		}
		return s.count(node, st, a)
	})
}

// asks says whether a node waits for people's approval.
func asks(node plan.NodeID, st *plan.State) error {
	if st.Status != plan.ApprovalWaiting || st.Approval == nil || st.Outcome != nil {
		return tooLate(node, st, "an approval")
	}
	return nil
}

// tooLate is the error of a decision that nobody waits for; it says who has
// decided, what and when.
func tooLate(node plan.NodeID, st *plan.State, what string) error {
	by := ""
	if d := st.Decided; d != nil {
		by = fmt.Sprintf(": %s has decided %s at %s", d.By, d.What, d.At.UTC().Format(time.RFC3339))
	}
	return fault.New(fault.Conflict, "%s is %s; it doesn't wait for %s%s", node, st.Status, what, by)
}

// count adds an answer to an approval; true when that ends it.
func (s *Service) count(node plan.NodeID, st *plan.State, a ApprovalAnswer) (bool, error) {
	ap := *st.Approval
	if a.Digest != "" && a.Digest != ap.Digest {
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

// approverInputs fills and checks what the approver entered. The next
// approver starts from the previous one's values; a rejection isn't checked.
func approverInputs(ap plan.Approval, a ApprovalAnswer) (map[string]string, error) {
	values := ap.Values()
	for name, v := range a.Inputs {
		if !slices.ContainsFunc(ap.Inputs, func(in plan.ApprovalInput) bool { return in.Name == name }) {
			return nil, fault.New(fault.Invalid, "the approval has no input %q", name)
		}
		values[name] = v
	}
	if a.Action == plan.Reject {
		return values, nil
	}
	for _, in := range ap.Inputs {
		if err := checkInput(in, values[in.Name]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func checkInput(in plan.ApprovalInput, v string) error {
	if in.Required && v == "" {
		return fault.New(fault.Invalid, "input %q is required", in.Name)
	}
	if v == "" {
		return nil
	}
	parts := []string{v}
	if in.Multiple {
		parts = strings.Split(v, ",")
	}
	for _, p := range parts {
		if len(in.Allowed) > 0 && !slices.Contains(in.Allowed, p) {
			return fault.New(fault.Invalid, "input %q is %q; want one of %s", in.Name, p, strings.Join(in.Allowed, ", "))
		}
	}
	if in.Regex != "" {
		re, err := regexp.Compile(`\A(?:` + in.Regex + `)\z`)
		if err != nil {
			return fault.New(fault.Invalid, "the pattern of input %q: %w", in.Name, err)
		}
		if !re.MatchString(v) {
			return fault.New(fault.Invalid, "input %q is %q; want a match of %s", in.Name, v, in.Regex)
		}
	}
	return nil
}
