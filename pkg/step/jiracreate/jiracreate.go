// Package jiracreate is the step type JiraCreate: a new issue, at each run of
// the step (semantics/pipeline §7.9).
//
// Outputs: issue.{key, id, url} and issue.<field>, by the names that people
// see. The issue is made by delegate/jira.
package jiracreate

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "JiraCreate", New: decode, Outside: true} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Project   yamldoc.Field[string] // its key
	IssueType yamldoc.Field[string] // its name
	Fields    []ticket.Field
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{
		"projectKey": d.Text(&s.Project),
		"issueType":  d.Text(&s.IssueType),
		"fields":     func(e yamldoc.Value) { s.Fields = ticket.Fields(e, d) },
	}))
	d.Missing(v, "connectorRef", "projectKey", "issueType")
	return s
}

// Start gives the issue to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "Jira")
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: task.KindJira, Selectors: selectors, Payload: tracker.Jira{
		Op: tracker.JiraCreate, Server: server, Project: step.Text(s.Project), IssueType: step.Text(s.IssueType), Fields: ticket.Values(s.Fields),
	}}}, nil
}
