// Package jiraapproval is the step type JiraApproval: it looks at an issue
// again and again until criteria on its fields approve or reject
// (semantics/pipeline §7.9).
//
// Outputs: issue.{key, id, url} and issue.<field>, of the last look. Between
// two looks nothing runs; delegate/jira reads the issue.
package jiraapproval

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/criteria"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type. The criteria have a day unless the step says
// otherwise (semantics/pipeline §1.4).
func Type() step.Type {
	return step.Type{Name: "JiraApproval", New: decode, Outside: true, Finish: step.Finisher((*Spec).finish), Timeout: 24 * time.Hour, Late: criteria.Late(), Looks: true}
}

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	criteria.Approval
	Issue yamldoc.Field[string] // its key
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Base.Keys(d), s.Approval.Keys(d), document.Keys{
		"issueKey":   d.Text(&s.Issue),
		"projectKey": d.Text(nil), // the issue itself says so
		"issueType":  d.Text(nil), // the issue itself says so
	}))
	d.Missing(v, "connectorRef", "issueKey", "approvalCriteria")
	return s
}

// Start has a delegate read the issue.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "Jira")
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: task.KindJira, Selectors: selectors, Payload: tracker.Jira{
		Op: tracker.JiraRead, Server: server, Issue: step.Text(s.Issue),
	}}}, nil
}

// finish judges what was read.
func (s *Spec) finish(in step.In, r task.Result) (plan.Outcome, error) {
	return ticket.Finish(in, r, s.Approval, func(outputs expr.Value) criteria.Look {
		issue, _ := outputs.Field("issue")
		return criteria.Look{
			Subject: "issue " + step.Text(s.Issue), Fields: issue, Names: map[string]expr.Value{"issue": issue},
		}
	})
}
