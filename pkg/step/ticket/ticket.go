// Package ticket is what the steps that work on issues, tickets and builds of
// other systems have in common: a connector, a delegate's task, and fields or
// parameters by name (semantics/pipeline §7.9 and §7.12).
//
// Criteria are pkg/step/criteria's, the systems' own words the step types'.
package ticket

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
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

// Keys are those that it adds to a spec.
func (b *Base) Keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"connectorRef":      d.Text(&b.Connector),
		"delegateSelectors": d.Words(nil), // the plan's
	}
}

// Server resolves the connector, which must be of a type, and the selectors
// that the task gets.
func (b *Base) Server(in step.In, kind string) (task.Server, []string, error) {
	server, selectors, err := in.Server(step.Text(b.Connector), kind)
	return server, slices.Concat(in.Selectors, selectors), err
}

// Field is a field to be set.
type Field struct{ Name, Value yamldoc.Field[string] }

// Fields decodes a list of {name, value}.
func Fields(v yamldoc.Value, d *document.Decoder) []Field {
	var list []Field
	var names []string
	for item := range d.Items(v) {
		var f Field
		d.Fields(item, document.Keys{
			"name":  d.Text(&f.Name),
			"value": d.Text(&f.Value),
		})
		d.Need(item, "name", "value")
		if name := step.Text(f.Name); name != "" && slices.Contains(names, name) {
			d.Errorf(item, "DUPLICATE_NAME", "field %q stands twice", name)
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
