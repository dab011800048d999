// Package criteria decides approvals by what a step has looked at: a script's
// outputs, or the fields of an issue or ticket (semantics/pipeline §7.8
// and §7.9).
//
// It decodes the keys that the approval steps share and judges one look. When
// the step looks again is pkg/engine's, what it looks at is the step type's.
package criteria

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Late names the keys whose expressions are evaluated at each look.
func Late() []string { return []string{"approvalCriteria", "rejectionCriteria"} }

// The operators of a condition.
const (
	equals    = "equals"
	notEquals = "not equals"
	in        = "in"
	notIn     = "not in"
)

// Criteria is an expression, or conditions on values by their names.
type Criteria struct {
	Expression yamldoc.Field[string]
	Any        yamldoc.Field[bool] // one condition is enough
	Conditions []Condition
}

// Condition compares the value of a key, e.g. an issue's field.
type Condition struct{ Key, Operator, Value yamldoc.Field[string] }

// empty says that nothing is asked for.
func (c Criteria) empty() bool {
	return strings.TrimSpace(step.Text(c.Expression)) == "" && len(c.Conditions) == 0
}

// Approval is what the approval steps have in common.
type Approval struct {
	Approve, Reject Criteria
	Every           yamldoc.Field[time.Duration] // between two looks
}

// Keys are those that it adds to a spec.
func (a *Approval) Keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"approvalCriteria": func(e yamldoc.Value) {
			a.Approve = decode(e, d)
			d.Need(e, "type", "spec")
			if e.Is(yamldoc.Mapping) && len(e.Node.Entries) > 0 && a.Approve.empty() {
				d.Errorf(e, "WRONG_VALUE", "found criteria that ask for nothing; want an expression or conditions")
			}
		},
		"rejectionCriteria": func(e yamldoc.Value) {
			a.Reject = decode(e, d)
			d.NeedUnlessEmpty(e, "type", "spec")
		},
		"retryInterval": d.Time(&a.Every),
	}
}

func decode(v yamldoc.Value, d *document.Decoder) Criteria {
	var c Criteria
	kind := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Word(nil, "Jexl", "KeyValues"),
		"spec": func(e yamldoc.Value) { c.spec(e, d, kind) },
	})
	return c
}

func (c *Criteria) spec(v yamldoc.Value, d *document.Decoder, kind string) {
	switch kind {
	case "Jexl":
		d.Fields(v, document.Keys{"expression": d.Condition(&c.Expression)})
	case "KeyValues":
		d.Fields(v, document.Keys{
			"matchAnyCondition": d.Flag(&c.Any),
			"conditions":        func(e yamldoc.Value) { c.Conditions = conditions(e, d) },
		})
	}
}

func conditions(v yamldoc.Value, d *document.Decoder) []Condition {
	var list []Condition
	var keys []string
	for item := range d.Items(v) {
		var c Condition
		d.Fields(item, document.Keys{
			"key":      d.Text(&c.Key),
			"operator": d.Word(&c.Operator, equals, notEquals, in, notIn),
			"value":    d.Text(&c.Value),
		})
		d.Need(item, "key", "operator", "value")
		if key := step.Text(c.Key); key != "" && slices.Contains(keys, key) {
			d.Errorf(item, "DUPLICATE_NAME", "key %q stands twice; conditions on one key can be put as an expression (type Jexl)", key)
		} else {
			keys = append(keys, key)
		}
		list = append(list, c)
	}
	return list
}

// holds judges what was looked at: names are what expressions know, fields
// what conditions compare.
func (c Criteria) holds(at step.In, names map[string]expr.Value, fields expr.Value) (bool, error) {
	if body := strings.TrimSpace(step.Text(c.Expression)); body != "" {
		return at.Holds(body, names)
	}
	for _, x := range c.Conditions {
		ok, err := x.holds(at, names, fields)
		if err != nil {
			return false, err
		}
		if ok == c.Any.Value {
			return ok, nil // the first that decides
		}
	}
	return len(c.Conditions) > 0 && !c.Any.Value, nil
}
