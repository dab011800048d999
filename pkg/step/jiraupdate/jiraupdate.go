// Package jiraupdate is the step type JiraUpdate: it sets fields of an issue
// and moves it to another status (semantics/pipeline §7.9).
//
// Outputs: issue.{key, id, url} and issue.<field>, by the names that people
// see. The issue is changed by delegate/jira.
package jiraupdate

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "JiraUpdate", New: decode, Outside: true} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Issue      yamldoc.Field[string] // its key
	Status     yamldoc.Field[string] // where it is moved to
	Transition yamldoc.Field[string] // by which transition; empty: any
	Fields     []ticket.Field
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{
		"issueKey":     d.Text(&s.Issue),
		"transitionTo": func(e yamldoc.Value) { s.transition(e, d) },
		"fields":       func(e yamldoc.Value) { s.Fields = ticket.Fields(e, d) },
		"projectKey":   d.Text(nil), // the issue itself says so
		"issueType":    d.Text(nil), // the issue itself says so
	}))
	d.Missing(v, "connectorRef", "issueKey")
	return s
}

func (s *Spec) transition(v yamldoc.Value, d *document.Decoder) {
	d.Fields(v, document.Keys{
		"status":         d.Text(&s.Status),
		"transitionName": d.Text(&s.Transition),
	})
	d.NeedUnlessEmpty(v, "status")
}

// Start gives the change to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "Jira")
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: task.KindJira, Selectors: selectors, Payload: tracker.Jira{
		Op: tracker.JiraUpdate, Server: server, Issue: step.Text(s.Issue), Fields: ticket.Values(s.Fields),
		Status: step.Text(s.Status), Transition: step.Text(s.Transition),
	}}}, nil
}
