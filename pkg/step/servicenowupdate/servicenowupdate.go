// Package servicenowupdate is the step type ServiceNowUpdate: it sets fields
// of a ticket, or of the tasks of a change request (semantics/pipeline §7.9).
//
// Outputs: ticket.{ticketNumber, ticketUrl} and
// ticket.fields.<column>.{value, displayValue}; where tasks are updated, of
// their change request. The change is made by delegate/servicenow.
package servicenowupdate

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "ServiceNowUpdate", New: decode, Outside: true} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Table    yamldoc.Field[string] // the ticketType, e.g. incident
	Number   yamldoc.Field[string]
	Fields   []ticket.Field
	Template ticket.Template
	Multiple multiple
}

// multiple says that the tasks of a change request are updated.
type multiple struct{ Kind, Change, TaskType yamldoc.Field[string] }

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Base.Keys(d), s.Template.Keys(d), document.Keys{
		"ticketType":     d.Text(&s.Table),
		"ticketNumber":   d.Text(&s.Number),
		"fields":         func(e yamldoc.Value) { s.Fields = ticket.Fields(e, d) },
		"updateMultiple": func(e yamldoc.Value) { s.multiple(e, d) },
	}))
	d.Missing(v, "connectorRef", "ticketType")
	if document.Neutral(v.Node.Get("updateMultiple")) {
		d.Missing(v, "ticketNumber")
	}
	s.Template.Check(v, d)
	return s
}

func (s *Spec) multiple(v yamldoc.Value, d *document.Decoder) {
	d.Fields(v, document.Keys{
		"type": d.Word(&s.Multiple.Kind, "CHANGE_TASK"),
		"spec": func(e yamldoc.Value) {
			d.Fields(e, document.Keys{
				"changeRequestNumber": d.Text(&s.Multiple.Change),
				"changeTaskType":      d.Text(&s.Multiple.TaskType),
			})
			d.Missing(e, "changeRequestNumber")
		},
	})
	d.NeedUnlessEmpty(v, "type", "spec")
}

// changes is the table in which the numbers of change requests are.
const changes = "change_request"

// Start gives the change to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "ServiceNow")
	if err != nil {
		return step.Action{}, err
	}
	template, err := s.Template.Named()
	p := tracker.ServiceNow{
		Op: tracker.ServiceNowUpdate, Server: server, Table: step.Text(s.Table), Ticket: step.Text(s.Number),
		Fields: ticket.Values(s.Fields), Template: template,
	}
	if s.Multiple.Kind.Set {
		p.Table, p.Ticket, p.ChangeTasks, p.TaskType = changes, step.Text(s.Multiple.Change), true, step.Text(s.Multiple.TaskType)
	}
	return step.Action{Task: &step.Task{Kind: task.KindServiceNow, Selectors: selectors, Payload: p}}, err
}
