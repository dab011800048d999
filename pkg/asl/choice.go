package asl

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// choice is a rule of a Choice state: one comparison of a variable, or And,
// Or or Not of such.
type choice struct {
	Next     string
	variable *path
	operator string
	value    any   // a literal
	other    *path // for operators that end in Path
	inner    []choice
}

// UnmarshalJSON reads a rule.
func (c *choice) UnmarshalJSON(data []byte) error {
	keys, err := object(data, append([]string{"Next", "Comment", "Variable", "And", "Or", "Not"}, operators()...), nil)
	if err != nil {
		return err
	}
	var comment string
	if err := fillFields(keys, map[string]any{"Next": &c.Next, "Comment": &comment, "Variable": &c.variable}); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains([]string{"Next", "Comment", "Variable"}, key) {
			continue
		}
		if c.operator != "" {
			return fmt.Errorf("found %s and %s; want one operator", c.operator, key)
		}
		c.operator = key
		if err := c.operand(key, keys[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func (c *choice) operand(key string, v json.RawMessage) error {
	switch key {
	case "And", "Or":
		return json.Unmarshal(v, &c.inner)
	case "Not":
		c.inner = make([]choice, 1)
		return json.Unmarshal(v, &c.inner[0])
	}
	if strings.HasSuffix(key, "Path") {
		return json.Unmarshal(v, &c.other)
	}
	var err error
	if c.value, err = decode(v); err != nil {
		return err
	}
	return operand(key, c.value)
}

// operand says whether a literal is of its operator's kind.
func operand(operator string, v any) error {
	var ok bool
	switch {
	case strings.HasPrefix(operator, "String"):
		_, ok = v.(string)
	case strings.HasPrefix(operator, "Numeric"):
		_, ok = v.(json.Number)
	case strings.HasPrefix(operator, "Timestamp"):
		_, ok = timestamp(v)
	default:
		_, ok = v.(bool)
	}
	if !ok {
		return fmt.Errorf("found %s, which isn't of the operator's kind", encode(v))
	}
	return nil
}

// check finds what a rule lacks. Only those of the state itself have Next.
func (c *choice) check(outer bool) error {
	switch {
	case c.operator == "":
		return errors.New("a rule needs an operator")
	case outer && c.Next == "":
		return errors.New("a rule needs Next")
	case !outer && c.Next != "":
		return errors.New("Next: a rule within another has none") //nolint:staticcheck // the name of a field
	case (c.variable == nil) == (c.inner == nil):
		return fmt.Errorf("%s: a rule needs either a Variable or inner rules", c.operator)
	case c.inner != nil && len(c.inner) == 0:
		return fmt.Errorf("%s: at least one rule is needed", c.operator)
	}
	for i := range c.inner {
		if err := c.inner[i].check(false); err != nil {
			return fmt.Errorf("%s[%d]: %w", c.operator, i, err)
		}
	}
	return nil
}

// operators are the comparisons.
func operators() []string {
	out := []string{"StringMatches", "BooleanEquals", "BooleanEqualsPath", "IsNull", "IsPresent", "IsNumeric", "IsString", "IsBoolean", "IsTimestamp"}
	for _, kind := range []string{"String", "Numeric", "Timestamp"} {
		for _, op := range []string{"Equals", "LessThan", "GreaterThan", "LessThanEquals", "GreaterThanEquals"} {
			out = append(out, kind+op, kind+op+"Path")
		}
	}
	return out
}

// holds evaluates a rule. A variable that isn't there is an error, but for
// IsPresent.
func (c *choice) holds(data any, context lookup) (bool, *Failure) {
	switch c.operator {
	case "And", "Or":
		for _, in := range c.inner {
			ok, f := in.holds(data, context)
			if f != nil || ok == (c.operator == "Or") {
				return ok, f
			}
		}
		return c.operator == "And", nil
	case "Not":
		ok, f := c.inner[0].holds(data, context)
		return !ok, f
	}
	v, present := c.variable.get(data, context)
	if c.operator == "IsPresent" {
		return present == c.value, nil
	}
	if !present {
		return false, &Failure{Name: errRuntime, Cause: "Invalid path '" + c.variable.text + "': The choice state's condition path references an invalid value."}
	}
	want := c.value
	if c.other != nil {
		var f *Failure
		if want, f = c.other.must(data, context); f != nil {
			return false, f
		}
	}
	if c.operator == "StringMatches" {
		return match(v, want)
	}
	return compare(strings.TrimSuffix(c.operator, "Path"), v, want), nil
}
