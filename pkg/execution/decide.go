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
	d := &decision{node: node, by: by, action: audit.Intervene, kind: "intervention", after: string(action)}
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

// tooLate is the error of a decision that nobody waits for; it says who has
// decided, what and when.
func tooLate(node plan.NodeID, st *plan.State, what string) error {
	by := ""
	if d := st.Decided; d != nil {
		by = fmt.Sprintf(": %s has decided %s at %s", d.By, d.What, d.At.UTC().Format(time.RFC3339))
	}
	return fault.New(fault.Conflict, "%s is %s; it doesn't wait for %s%s", node, st.Status, what, by)
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
