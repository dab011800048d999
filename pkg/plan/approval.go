package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// AutoApprover is who answers an approval that approves by itself.
const AutoApprover = "auto approval"

// AutoRejecter is who answers an approval that a newer execution's rejects.
const AutoRejecter = "auto rejection"

// The answers to an approval.
const (
	Approve = "APPROVE"
	Reject  = "REJECT"
)

// EverybodysGroup says whether a user group is one of the built-in ones of all
// users, who are all that may reach the execution (semantics/pipeline §7.7).
func EverybodysGroup(name string) bool {
	switch name {
	case "_project_all_users", "org._organization_all_users", "account._account_all_users":
		return true
	}
	return false
}

// Outputs is what expressions read below a step that people have answered
// (semantics/pipeline §7.7): the answers, and what the last one entered.
func (a Approval) Outputs() (json.RawMessage, error) {
	type user struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	}
	type activity struct {
		User       user   `json:"user"`
		Status     string `json:"status"`
		ApprovedAt int64  `json:"approvedAt"` // in milliseconds
		Comments   string `json:"comments"`
	}
	var out struct {
		Output struct {
			Activities []activity        `json:"approvalActivities"`
			Inputs     map[string]string `json:"approverInputs"`
		} `json:"output"`
	}
	for _, x := range a.Activities {
		status := "APPROVED"
		if x.Action == Reject {
			status = "REJECTED"
		}
		out.Output.Activities = append(out.Output.Activities, activity{
			User: user{Name: x.User, Email: x.User}, Status: status, ApprovedAt: x.At.UnixMilli(), Comments: x.Comments,
		})
		out.Output.Inputs = x.Inputs
	}
	doc, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the approval: %w", err)
	}
	return doc, nil
}

// Outcome ends an approval that has its answers (semantics/pipeline §7.7): the
// first rejection does, the minimum of distinct approvers does. nil while it
// hasn't them.
func (a Approval) Outcome() (*Outcome, error) {
	o := Outcome{}
	approvals := 0
	for _, x := range a.Activities {
		if x.Action == Reject {
			o.Status, o.Failures = ApprovalRejected, []fault.FailureType{fault.ApprovalRejection}
			o.Message = strings.TrimSuffix(fmt.Sprintf("rejected by %s: %s", x.User, x.Comments), ": ")
		} else {
			approvals++
		}
	}
	if o.Status == "" {
		if approvals < max(a.Minimum, 1) {
			return nil, nil
		}
		o.Status = Success
	}
	var err error
	o.Outputs, err = a.Outputs()
	return &o, err
}

// Values are the inputs as they are before the next answer: the last one's,
// else the defaults (semantics/pipeline §7.7).
func (a Approval) Values() map[string]string {
	values := map[string]string{}
	for _, in := range a.Inputs {
		values[in.Name] = in.Default
	}
	if n := len(a.Activities); n > 0 {
		for name, v := range a.Activities[n-1].Inputs {
			values[name] = v
		}
	}
	return values
}
