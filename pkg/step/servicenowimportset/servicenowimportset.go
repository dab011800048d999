// Package servicenowimportset is the step type ServiceNowImportSet: it puts a
// row into a staging table, which ServiceNow transforms at once
// (semantics/pipeline §7.9).
//
// Outputs: output.{importSetNumber, stagingTable, transformMapOutcomes[]}. The
// row is sent by delegate/servicenow.
package servicenowimportset

import (
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "ServiceNowImportSet", New: decode, Outside: true} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Table  yamldoc.Field[string] // the staging table
	Kind   yamldoc.Field[string] // Json or KeyValues
	Body   yamldoc.Field[string] // of Json
	Fields []ticket.Field        // of KeyValues
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{
		"stagingTableName": d.Text(&s.Table),
		"importData":       func(e yamldoc.Value) { s.row(e, d) },
	}))
	d.Missing(v, "connectorRef", "stagingTableName", "importData")
	return s
}

func (s *Spec) row(v yamldoc.Value, d *document.Decoder) {
	kind := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Word(&s.Kind, "Json", "KeyValues"),
		"spec": func(e yamldoc.Value) {
			switch kind {
			case "Json":
				d.Fields(e, document.Keys{"jsonBody": d.Text(&s.Body)})
				d.Missing(e, "jsonBody")
			case "KeyValues":
				d.Fields(e, document.Keys{"fields": func(e yamldoc.Value) { s.Fields = ticket.Fields(e, d) }})
			}
		},
	})
	d.Need(v, "type", "spec")
}

// Start gives the row to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "ServiceNow")
	if err != nil {
		return step.Action{}, err
	}
	p := tracker.ServiceNow{Op: tracker.ServiceNowImport, Server: server, Table: step.Text(s.Table), Fields: ticket.Values(s.Fields)}
	if s.Kind.Value == "Json" {
		var row map[string]json.RawMessage
		if err := json.Unmarshal([]byte(step.Text(s.Body)), &row); err != nil {
			return step.Action{}, fault.New(fault.Invalid, "jsonBody isn't a JSON object: %w", err)
		}
		p.Import = json.RawMessage(step.Text(s.Body))
	}
	return step.Action{Task: &step.Task{Kind: task.KindServiceNow, Selectors: selectors, Payload: p}}, nil
}
