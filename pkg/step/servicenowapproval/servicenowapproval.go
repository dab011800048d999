// Package servicenowapproval is the step type ServiceNowApproval: it looks at
// a ticket again and again until criteria on its fields approve or reject and,
// if it is asked to, until the ticket's change window is open
// (semantics/pipeline §7.9).
//
// Outputs: ticket.{ticketNumber, ticketUrl} and
// ticket.fields.<column>.{value, displayValue}, of the last look. Between two
// looks nothing runs; delegate/servicenow reads the ticket.
package servicenowapproval

import (
	"fmt"
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
	return step.Type{Name: "ServiceNowApproval", New: decode, Outside: true, Finish: step.Finisher((*Spec).finish), Timeout: 24 * time.Hour, Late: criteria.Late(), Looks: true}
}

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	criteria.Approval
	Table  yamldoc.Field[string] // the ticketType, e.g. change_request
	Number yamldoc.Field[string]
	Window window
}

// window names the columns that say when the change may be made.
type window struct{ Start, End yamldoc.Field[string] }

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Base.Keys(d), s.Approval.Keys(d), document.Keys{
		"ticketType":   d.Text(&s.Table),
		"ticketNumber": d.Text(&s.Number),
		"changeWindow": func(e yamldoc.Value) { s.window(e, d) },
	}))
	d.Missing(v, "connectorRef", "ticketType", "ticketNumber", "approvalCriteria")
	return s
}

func (s *Spec) window(v yamldoc.Value, d *document.Decoder) {
	d.Fields(v, document.Keys{
		"startField": d.Text(&s.Window.Start),
		"endField":   d.Text(&s.Window.End),
	})
	d.NeedUnlessEmpty(v, "startField", "endField")
}

// Start has a delegate read the ticket.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "ServiceNow")
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: task.KindServiceNow, Selectors: selectors, Payload: tracker.ServiceNow{
		Op: tracker.ServiceNowRead, Server: server, Table: step.Text(s.Table), Ticket: step.Text(s.Number),
	}}}, nil
}

// finish judges what was read. Conditions compare what people see of a field.
func (s *Spec) finish(in step.In, r task.Result) (plan.Outcome, error) {
	var columns expr.Value
	o, err := ticket.Finish(in, r, s.Approval, func(outputs expr.Value) criteria.Look {
		found, _ := outputs.Field("ticket")
		columns, _ = found.Field("fields")
		seen, names := map[string]expr.Value{}, map[string]expr.Value{"fields": columns}
		for _, key := range found.Keys() {
			names[key], _ = found.Field(key)
		}
		for _, key := range columns.Keys() {
			names[key], _ = columns.Field(key)
			seen[key], _ = names[key].Field("displayValue")
		}
		return criteria.Look{
			Subject: "ticket " + step.Text(s.Number), Fields: expr.Map(seen), Names: map[string]expr.Value{"ticket": expr.Map(names)},
		}
	})
	if err != nil || o.Status != plan.Success || o.Again > 0 || step.Text(s.Window.Start) == "" {
		return o, err
	}
	return s.opened(in, o, columns)
}

// opened makes an approval wait until the change window is open. ServiceNow
// keeps times in UTC (semantics/pipeline §7.9).
func (s *Spec) opened(in step.In, o plan.Outcome, columns expr.Value) (plan.Outcome, error) {
	start, err := moment(columns, step.Text(s.Window.Start))
	if err != nil {
		return s.again(o, s.Interval(), "is approved, but "+err.Error()), nil
	}
	end, err := moment(columns, step.Text(s.Window.End))
	switch {
	case err != nil:
		return s.again(o, s.Interval(), "is approved, but "+err.Error()), nil
	case in.Now.Before(start):
		wait := min(start.Sub(in.Now), max(s.Interval(), time.Minute))
		return s.again(o, wait, fmt.Sprintf("is approved; its change window opens at %s", start.Format(time.RFC3339))), nil
	case !in.Now.Before(end):
		return s.again(o, s.Interval(), fmt.Sprintf("is approved, but its change window closed at %s", end.Format(time.RFC3339))), nil
	}
	return o, nil
}

func (s *Spec) again(o plan.Outcome, after time.Duration, what string) plan.Outcome {
	o.Status, o.Again, o.Message = "", after, fmt.Sprintf("ticket %s %s", step.Text(s.Number), what)
	return o
}

func moment(columns expr.Value, name string) (time.Time, error) {
	column, _ := columns.Field(name)
	stored, _ := column.Field("value")
	t, err := time.Parse(time.DateTime, stored.Text())
	if err != nil {
		return time.Time{}, fmt.Errorf("its field %q is %q; want a time such as 2026-01-31 18:00:00", name, stored.Text())
	}
	return t, nil
}
