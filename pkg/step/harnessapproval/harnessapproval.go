// Package harnessapproval is the step type HarnessApproval: people are shown
// a message and asked for approval and, perhaps, for values
// (semantics/pipeline §7.7). It needs no delegate.
//
// Outputs, once there are answers: output.approvalActivities[] and
// output.approverInputs.<name>. Counting the answers is pkg/execution's.
package harnessapproval

import (
	"fmt"
	"regexp"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type. People have a day unless the step says
// otherwise (semantics/pipeline §1.4).
func Type() step.Type {
	return step.Type{Name: "HarnessApproval", New: decode, Timeout: 24 * time.Hour, Late: []string{"approvalMessage"}}
}

// Spec is the step's spec.
type Spec struct {
	Message      yamldoc.Field[string]
	Approvers    approvers
	Inputs       []input
	RejectsOlder yamldoc.Field[bool]
	Auto         auto
	Callback     yamldoc.Field[string]
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"approvalMessage":                 d.Text(&s.Message),
		"includePipelineExecutionHistory": d.Flag(nil), // the console always shows it
		"approvers":                       func(e yamldoc.Value) { s.Approvers = decodeApprovers(e, d) },
		"approverInputs":                  func(e yamldoc.Value) { s.Inputs = decodeInputs(e, d) },
		"isAutoRejectEnabled":             d.Flag(&s.RejectsOlder),
		"autoApproval":                    func(e yamldoc.Value) { s.Auto = decodeAuto(e, d) },
		"callbackId": func(e yamldoc.Value) {
			if s.Callback = d.String(e); !callbackID.MatchString(step.Text(s.Callback)) {
				d.Errorf(e, "WRONG_VALUE", "found %q; want letters, digits, _, - and perhaps one expression", step.Text(s.Callback))
			}
		},
	})
	d.Missing(v, "approvers")
	return s
}

// callbackID is what a callback id may be (semantics/pipeline §7.7).
var callbackID = regexp.MustCompile(`^[a-zA-Z0-9_-]*(<\+[^ ]+>)?[a-zA-Z0-9_.()-]*$`)

// Start asks for the approval.
func (s *Spec) Start(in step.In) (step.Action, error) {
	for _, g := range s.Approvers.Groups {
		if err := in.UserGroup(g); err != nil {
			return step.Action{}, err
		}
	}
	for _, account := range s.Approvers.ServiceAccounts {
		if err := in.ServiceAccount(account); err != nil {
			return step.Action{}, err
		}
	}
	message, err := in.InterpolateKnown(step.Text(s.Message))
	if err != nil {
		return step.Action{}, fmt.Errorf("approvalMessage: %w", err)
	}
	a := &plan.Approval{
		Message: message.Text(), Groups: s.Approvers.Groups, Refused: s.Approvers.Refused, ServiceAccounts: s.Approvers.ServiceAccounts,
		Minimum: s.Approvers.Minimum.Value, NotExecutor: s.Approvers.NotExecutor.Value, Callback: step.Text(s.Callback),
		RejectsOlder: s.RejectsOlder.Value,
	}
	for _, x := range s.Inputs {
		a.Inputs = append(a.Inputs, x.ask())
	}
	if a.Minimum < 1 {
		return step.Action{}, fault.New(fault.Invalid, "minimumCount is %d; want 1 or more", a.Minimum)
	}
	if a.Auto, err = s.Auto.at(in.Now); err != nil {
		return step.Action{}, err
	}
	if a.Digest, err = digest(in, *a); err != nil {
		return step.Action{}, err
	}
	return step.Action{Approval: a}, nil
}

// digest binds an answer to what was shown: the question with its inputs, and
// where it was asked. What the execution deploys is added by who runs the step
// (plan.Approval.Bind).
func digest(in step.In, a plan.Approval) (string, error) {
	return plan.Sum(struct {
		Execution string
		Node      plan.NodeID
		Attempt   int
		Asked     plan.Approval
	}{in.Execution, in.Node, in.Attempt, a})
}
