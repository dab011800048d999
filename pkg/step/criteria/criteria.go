// Package criteria decides approvals by what a step has looked at: a script's
// outputs, or the fields of an issue or ticket (pipeline spec §7.8 and §7.9).
//
// It decodes the keys that the approval steps share and judges one look. When
// the step looks again is pkg/engine's, what it looks at is the step type's.
package criteria

import (
	"slices"
	"strings"
	"time"

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

// Key decodes a key of an approval step's spec; false if it is the step's own.
func (a *Approval) Key(e yamldoc.Value, r *yamldoc.Report) bool {
	switch e.Key {
	case "approvalCriteria":
		a.Approve = decode(e, r)
		if e.Is(yamldoc.Mapping) && a.Approve.empty() {
			r.Errorf(e, "WRONG_VALUE", "found criteria that ask for nothing; want an expression or conditions")
		}
	case "rejectionCriteria":
		a.Reject = decode(e, r)
	case "retryInterval":
		a.Every = r.Duration(e)
	default:
		return false
	}
	return true
}

func decode(v yamldoc.Value, r *yamldoc.Report) Criteria {
	var c Criteria
	kind := r.Enum(yamldoc.Sub(v.Node.Get("type"), v.Path+".type"), "Jexl", "KeyValues").Value
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type": // decoded above
		case "spec":
			c.spec(e, r, kind)
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) && len(v.Node.Entries) > 0 {
		r.Missing(v, "type", "spec")
	}
	return c
}

func (c *Criteria) spec(v yamldoc.Value, r *yamldoc.Report, kind string) {
	for e := range r.Mapping(v) {
		switch {
		case kind == "Jexl" && e.Key == "expression":
			c.Expression = r.Body(e)
		case kind == "KeyValues" && e.Key == "matchAnyCondition":
			c.Any = r.Bool(e)
		case kind == "KeyValues" && e.Key == "conditions":
			c.Conditions = conditions(e, r)
		case kind == "Jexl":
			r.Unknown(e, "expression")
		case kind == "KeyValues":
			r.Unknown(e, "matchAnyCondition", "conditions")
		}
	}
}

func conditions(v yamldoc.Value, r *yamldoc.Report) []Condition {
	var list []Condition
	var keys []string
	for item := range r.List(v) {
		var c Condition
		for e := range r.Mapping(item) {
			switch e.Key {
			case "key":
				c.Key = r.String(e)
			case "operator":
				c.Operator = r.Enum(e, equals, notEquals, in, notIn)
			case "value":
				c.Value = r.String(e)
			default:
				r.Unknown(e, "key", "operator", "value")
			}
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "key", "operator", "value")
		}
		if key := step.Text(c.Key); key != "" && slices.Contains(keys, key) {
			r.Errorf(item, "DUPLICATE_NAME", "key %q stands twice; conditions on one key can be put as an expression (type Jexl)", key)
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
