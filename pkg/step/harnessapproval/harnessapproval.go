// Package harnessapproval is the step type HarnessApproval: people are shown
// a message and asked for approval and, perhaps, for values (pipeline spec
// §7.7). It needs no delegate.
//
// Outputs, once there are answers: output.approvalActivities[] and
// output.approverInputs.<name>. Counting the answers is pkg/execution's.
package harnessapproval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type. People have a day unless the step says
// otherwise (pipeline spec §1.4).
func Type() step.Type {
	return step.Type{Name: "HarnessApproval", New: decode, Timeout: 24 * time.Hour, Late: []string{"approvalMessage"}}
}

// Spec is the step's spec.
type Spec struct {
	Message   yamldoc.Field[string]
	Approvers approvers
	Inputs    []input
}

// approvers says who may approve, and how many must.
type approvers struct {
	Groups      []string
	Minimum     yamldoc.Field[int]
	NotExecutor yamldoc.Field[bool]
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	v := yamldoc.Sub(doc, "")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "approvalMessage":
			s.Message = r.String(e)
		case "includePipelineExecutionHistory": // the console always shows it
			r.Bool(e)
		case "approvers":
			s.Approvers = decodeApprovers(e, r)
		case "approverInputs":
			s.Inputs = decodeInputs(e, r)
		case "isAutoRejectEnabled":
			if on := r.Bool(e); on.Value {
				r.Unsupported(e, "rejecting older executions that wait isn't supported yet")
			}
		case "autoApproval":
			if !e.Null() {
				r.Unsupported(e, "approving by itself at a time isn't supported yet")
			}
		case "callbackId":
			if f := r.String(e); step.Text(f) != "" {
				r.Unsupported(e, "finding an approval by a callback id isn't supported yet")
			}
		default:
			r.Unknown(e, "approvalMessage", "includePipelineExecutionHistory", "approvers", "approverInputs",
				"isAutoRejectEnabled", "autoApproval", "callbackId")
		}
	}
	r.Missing(v, "approvers")
	return s
}

func decodeApprovers(v yamldoc.Value, r *yamldoc.Report) approvers {
	var a approvers
	for e := range r.Mapping(v) {
		switch e.Key {
		case "minimumCount":
			a.Minimum = r.Int(e)
			if a.Minimum.Set && a.Minimum.Expr == "" && a.Minimum.Value < 1 {
				r.Errorf(e, "WRONG_VALUE", "found %d; want 1 or more", a.Minimum.Value)
			}
		case "disallowPipelineExecutor":
			a.NotExecutor = r.Bool(e)
		case "userGroups":
			a.Groups = texts(e, r)
			if g := unknownGroup(a.Groups); g != "" && !strings.Contains(g, "<+") {
				r.Unsupported(e, "user group %q: only the built-in groups of all users are known yet, such as _project_all_users", g)
			}
		case "serviceAccounts":
			if len(texts(e, r)) > 0 {
				r.Unsupported(e, "approval by service accounts isn't supported yet; name userGroups")
			}
		case "disallowedUserEmails":
			if len(texts(e, r)) > 0 {
				r.Unsupported(e, "keeping single users from approving isn't supported yet")
			}
		default:
			r.Unknown(e, "minimumCount", "disallowPipelineExecutor", "userGroups", "serviceAccounts", "disallowedUserEmails")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "minimumCount", "userGroups")
		if g := v.Node.Get("userGroups"); g != nil && g.Kind != yamldoc.Null && len(a.Groups) == 0 {
			r.Errorf(v, "WRONG_VALUE", "userGroups is empty; want at least one group")
		}
	}
	return a
}

// unknownGroup finds a group whose members aren't known; empty if there is
// none. The built-in groups hold whoever may reach the execution.
func unknownGroup(groups []string) string {
	for _, g := range groups {
		switch g {
		case "_project_all_users", "org._organization_all_users", "account._account_all_users":
		default:
			return g
		}
	}
	return ""
}

// Start asks for the approval.
func (s *Spec) Start(in step.In) (step.Action, error) {
	if g := unknownGroup(s.Approvers.Groups); g != "" {
		return step.Action{}, fault.New(fault.Unsupported, "user group %q: only the built-in groups of all users are known yet, such as _project_all_users", g)
	}
	message, err := in.InterpolateKnown(step.Text(s.Message))
	if err != nil {
		return step.Action{}, fmt.Errorf("approvalMessage: %w", err)
	}
	a := &plan.Approval{
		Message: message.Text(), Groups: s.Approvers.Groups,
		Minimum: s.Approvers.Minimum.Value, NotExecutor: s.Approvers.NotExecutor.Value,
	}
	for _, x := range s.Inputs {
		a.Inputs = append(a.Inputs, x.ask())
	}
	if a.Minimum < 1 {
		return step.Action{}, fault.New(fault.Invalid, "minimumCount is %d; want 1 or more", a.Minimum)
	}
	if a.Digest, err = digest(in, *a); err != nil {
		return step.Action{}, err
	}
	return step.Action{Approval: a}, nil
}

// digest binds an answer to what was shown (design, decision 13): the question
// with its inputs, and where it was asked.
func digest(in step.In, a plan.Approval) (string, error) {
	doc, err := json.Marshal(struct {
		Execution string
		Node      plan.NodeID
		Attempt   int
		Asked     plan.Approval
	}{in.Execution, in.Node, in.Attempt, a})
	if err != nil {
		return "", fmt.Errorf("encode the approval: %w", err)
	}
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Finish isn't asked: no delegate takes part.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
