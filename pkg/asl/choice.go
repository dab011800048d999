package asl

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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

// UnmarshalJSON reads and checks a rule.
func (c *choice) UnmarshalJSON(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	for key, v := range keys {
		var err error
		switch key {
		case "Next":
			err = json.Unmarshal(v, &c.Next)
		case "Comment":
		case "Variable":
			err = json.Unmarshal(v, &c.variable)
		default:
			if c.operator != "" {
				return fmt.Errorf("found %s and %s; want one operator", c.operator, key)
			}
			c.operator = key
			err = c.operand(key, v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if c.operator == "" {
		return errors.New("a rule needs an operator")
	}
	if (c.variable == nil) == (c.inner == nil) {
		return fmt.Errorf("%s: a rule needs either a Variable or inner rules", c.operator)
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
	if !slices.Contains(operators(), strings.TrimSuffix(key, "Path")) {
		return errors.New("no such operator")
	}
	if strings.HasSuffix(key, "Path") {
		return json.Unmarshal(v, &c.other)
	}
	var err error
	c.value, err = decode(v)
	return err
}

// operators are the comparisons, without those that end in Path.
func operators() []string {
	out := []string{"StringMatches", "BooleanEquals", "IsNull", "IsPresent", "IsNumeric", "IsString", "IsBoolean", "IsTimestamp"}
	for _, kind := range []string{"String", "Numeric", "Timestamp"} {
		for _, op := range []string{"Equals", "LessThan", "GreaterThan", "LessThanEquals", "GreaterThanEquals"} {
			out = append(out, kind+op)
		}
	}
	return out
}

// holds evaluates a rule. A variable that isn't there is an error, but for
// IsPresent.
func (c *choice) holds(data, context any) (bool, *Failure) {
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
		return false, &Failure{Name: "States.Runtime", Cause: c.variable.text + " isn't in the state's input"}
	}
	want := c.value
	if c.other != nil {
		var f *Failure
		if want, f = c.other.must(data, context); f != nil {
			return false, f
		}
	}
	return compare(strings.TrimSuffix(c.operator, "Path"), v, want), nil
}

func compare(operator string, v, want any) bool {
	switch operator {
	case "IsNull":
		return (v == nil) == want
	case "IsNumeric":
		_, ok := v.(json.Number)
		return ok == want
	case "IsString":
		_, ok := v.(string)
		return ok == want
	case "IsBoolean":
		_, ok := v.(bool)
		return ok == want
	case "IsTimestamp":
		_, ok := timestamp(v)
		return ok == want
	case "BooleanEquals":
		b, ok := v.(bool)
		return ok && b == want
	case "StringMatches":
		text, ok := v.(string)
		pattern, isText := want.(string)
		return ok && isText && matches(pattern, text)
	}
	for _, kind := range []string{"String", "Numeric", "Timestamp"} {
		if op, ok := strings.CutPrefix(operator, kind); ok {
			n, comparable := order(kind, v, want)
			return comparable && fits(op, n)
		}
	}
	return false
}

// order compares two values of a kind; values of another kind don't compare.
func order(kind string, a, b any) (int, bool) {
	switch kind {
	case "String":
		s, ok1 := a.(string)
		t, ok2 := b.(string)
		return cmp.Compare(s, t), ok1 && ok2
	case "Numeric":
		x, ok1 := numeric(a)
		y, ok2 := numeric(b)
		return cmp.Compare(x, y), ok1 && ok2
	}
	x, ok1 := timestamp(a)
	y, ok2 := timestamp(b)
	return x.Compare(y), ok1 && ok2
}

func numeric(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func timestamp(v any) (time.Time, bool) {
	text, ok := v.(string)
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

func fits(op string, n int) bool {
	switch op {
	case "Equals":
		return n == 0
	case "LessThan":
		return n < 0
	case "LessThanEquals":
		return n <= 0
	case "GreaterThan":
		return n > 0
	case "GreaterThanEquals":
		return n >= 0
	}
	return false
}

// matches compares with a pattern in which * stands for anything and \* for
// itself.
func matches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	switch {
	case pattern[0] == '*':
		for i := range len(text) + 1 {
			if matches(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	case pattern[0] == '\\' && len(pattern) > 1:
		pattern = pattern[1:]
	}
	return text != "" && text[0] == pattern[0] && matches(pattern[1:], text[1:])
}
