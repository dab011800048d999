// Package ticket is what the steps that work on issues, tickets and builds of
// other systems have in common: a connector, a delegate's task, and fields or
// parameters by name (pipeline spec §7.9 and §7.12).
//
// Criteria are pkg/step/criteria's, the systems' own words the step types'.
package ticket

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/criteria"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Base is the keys that all these steps have.
type Base struct {
	Connector yamldoc.Field[string]
}

// Key decodes a key; false if it is the step's own.
func (b *Base) Key(e yamldoc.Value, r *yamldoc.Report) bool {
	switch e.Key {
	case "connectorRef":
		b.Connector = r.String(e)
	case "delegateSelectors": // the plan's
		r.Strings(e)
	default:
		return false
	}
	return true
}

// Server resolves the connector, which must be of a type, and the selectors
// that the task gets.
func (b *Base) Server(in step.In, kind string) (task.Server, []string, error) {
	name := step.Text(b.Connector)
	c, err := in.Connector(name)
	if err != nil {
		return task.Server{}, nil, err
	}
	if c.Type != kind {
		return task.Server{}, nil, fault.New(fault.Invalid, "connector %q is of type %s; want %s", name, c.Type, kind)
	}
	return c.Server, slices.Concat(in.Selectors, c.Selectors), nil
}

// Field is a field to be set.
type Field struct{ Name, Value yamldoc.Field[string] }

// Fields decodes a list of {name, value}.
func Fields(v yamldoc.Value, r *yamldoc.Report) []Field {
	var list []Field
	var names []string
	for item := range r.List(v) {
		var f Field
		for e := range r.Mapping(item) {
			switch e.Key {
			case "name":
				f.Name = r.String(e)
			case "value":
				f.Value = r.String(e)
			default:
				r.Unknown(e, "name", "value")
			}
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "name", "value")
		}
		if name := step.Text(f.Name); name != "" && slices.Contains(names, name) {
			r.Errorf(item, "DUPLICATE_NAME", "field %q stands twice", name)
		} else {
			names = append(names, name)
		}
		list = append(list, f)
	}
	return list
}

// Values are fields as a delegate is given them.
func Values(fields []Field) []task.NamedValue {
	var list []task.NamedValue
	for _, f := range fields {
		list = append(list, task.NamedValue{Name: step.Text(f.Name), Value: step.Text(f.Value)})
	}
	return list
}

// Finish judges a look at an issue or ticket, which is below a key of the
// outputs. Where the system was out of reach the step looks again: an
// approval that may wait for days must outlast that. Other errors end it.
func Finish(in step.In, r task.Result, a criteria.Approval, found func(outputs expr.Value) criteria.Look) (plan.Outcome, error) {
	o := step.Outcome(r)
	if r.Status != task.Succeeded {
		if r.Status != task.Aborted && slices.Contains(r.FailureTypes, fault.RetryableTransientFailure) {
			o.Again, o.Message = a.Interval(), "couldn't look: "+r.Message
		}
		return o, nil
	}
	doc, err := expr.FromJSON(r.Outputs)
	if err != nil {
		return plan.Outcome{}, fault.New(fault.Invalid, "the delegate's outputs: %w", err)
	}
	look := found(doc)
	look.Outputs = r.Outputs
	return a.Judge(in, look), nil
}
