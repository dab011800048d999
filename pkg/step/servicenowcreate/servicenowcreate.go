// Package servicenowcreate is the step type ServiceNowCreate: a new ticket, at
// each run of the step (semantics/pipeline §7.9).
//
// Outputs: ticket.{ticketNumber, ticketUrl} and
// ticket.fields.<column>.{value, displayValue}. The ticket is made by
// delegate/servicenow.
package servicenowcreate

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "ServiceNowCreate", New: decode, Outside: true} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Table    yamldoc.Field[string] // the ticketType, e.g. incident
	Fields   []ticket.Field
	Template ticket.Template
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Base.Keys(d), s.Template.Keys(d), document.Keys{
		"ticketType": d.Text(&s.Table),
		"fields":     func(e yamldoc.Value) { s.Fields = ticket.Fields(e, d) },
		"createType": func(e yamldoc.Value) {
			kind := d.Enum(e, "Normal", "Form", "Standard").Value
			d.Without(e, "Standard", kind == "Standard", "tickets from standard change templates aren't supported yet; want Normal, or Form with a template")
		},
	}))
	d.Missing(v, "connectorRef", "ticketType")
	s.Template.Check(v, d)
	return s
}

// Start gives the ticket to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "ServiceNow")
	if err != nil {
		return step.Action{}, err
	}
	template, err := s.Template.Named()
	return step.Action{Task: &step.Task{Kind: task.KindServiceNow, Selectors: selectors, Payload: tracker.ServiceNow{
		Op: tracker.ServiceNowCreate, Server: server, Table: step.Text(s.Table), Fields: ticket.Values(s.Fields), Template: template,
	}}}, err
}
