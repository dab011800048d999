// Package servicenowimportset is the step type ServiceNowImportSet: it puts a
// row into a staging table, which ServiceNow transforms at once (pipeline spec
// §7.9).
//
// Outputs: output.{importSetNumber, stagingTable, transformMapOutcomes[]}. The
// row is sent by delegate/servicenow.
package servicenowimportset

import (
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "ServiceNowImportSet", New: decode} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Table  yamldoc.Field[string] // the staging table
	Kind   yamldoc.Field[string] // Json or KeyValues
	Body   yamldoc.Field[string] // of Json
	Fields []ticket.Field        // of KeyValues
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	v := yamldoc.Sub(doc, "")
	for e := range r.Mapping(v) {
		if s.Key(e, r) {
			continue
		}
		switch e.Key {
		case "stagingTableName":
			s.Table = r.String(e)
		case "importData":
			s.row(e, r)
		default:
			r.Unknown(e, "connectorRef", "stagingTableName", "importData", "delegateSelectors")
		}
	}
	r.Missing(v, "connectorRef", "stagingTableName", "importData")
	return s
}

func (s *Spec) row(v yamldoc.Value, r *yamldoc.Report) {
	s.Kind = r.Enum(yamldoc.Sub(v.Node.Get("type"), v.Path+".type"), "Json", "KeyValues")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type": // decoded above
		case "spec":
			for e := range r.Mapping(e) {
				switch {
				case s.Kind.Value == "Json" && e.Key == "jsonBody":
					s.Body = r.String(e)
				case s.Kind.Value == "KeyValues" && e.Key == "fields":
					s.Fields = ticket.Fields(e, r)
				case s.Kind.Value == "Json":
					r.Unknown(e, "jsonBody")
				case s.Kind.Value == "KeyValues":
					r.Unknown(e, "fields")
				}
			}
			if s.Kind.Value == "Json" {
				r.Missing(e, "jsonBody")
			}
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
}

// Start gives the row to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "ServiceNow")
	if err != nil {
		return step.Action{}, err
	}
	p := task.ServiceNow{Op: task.ServiceNowImport, Server: server, Table: step.Text(s.Table), Fields: ticket.Values(s.Fields)}
	if s.Kind.Value == "Json" {
		var row map[string]json.RawMessage
		if err := json.Unmarshal([]byte(step.Text(s.Body)), &row); err != nil {
			return step.Action{}, fault.New(fault.Invalid, "jsonBody isn't a JSON object: %w", err)
		}
		p.Import = json.RawMessage(step.Text(s.Body))
	}
	return step.Action{Task: &step.Task{Kind: task.KindServiceNow, Selectors: selectors, Payload: p}}, nil
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
