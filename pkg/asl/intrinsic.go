package asl

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// call is an intrinsic function with its arguments.
type call struct {
	name string
	args []dynamic
}

// literal is an argument that is written out. The parts of a text are what
// stands between its places, {}, for Format.
type literal struct {
	value any
	parts []string
}

func (l literal) eval(any, lookup) (any, *Failure) { return l.value, nil }

// intrinsics are the functions that are supported, by their number of
// arguments; -1 is any number.
func intrinsics() map[string]int {
	return map[string]int{
		"States.Format": -1, "States.Array": -1, "States.ArrayLength": 1, "States.ArrayGetItem": 2,
		"States.JsonToString": 1, "States.StringToJson": 1, "States.JsonMerge": 3, "States.MathAdd": 2,
	}
}

func (c *call) eval(data any, context lookup) (any, *Failure) {
	args := make([]any, len(c.args))
	for i, a := range c.args {
		var f *Failure
		if args[i], f = a.eval(data, context); f != nil {
			return nil, f
		}
	}
	v, err := c.run(args)
	if err != nil {
		return nil, &Failure{Name: errIntrinsic, Cause: c.name + ": " + err.Error()}
	}
	return v, nil
}

func (c *call) run(args []any) (any, error) {
	switch c.name {
	case "States.Format":
		return format(c.args[0], args)
	case "States.Array":
		return args, nil
	case "States.ArrayLength":
		list, ok := args[0].([]any)
		if !ok {
			return nil, fmt.Errorf("found %v; want an array", args[0])
		}
		return json.Number(strconv.Itoa(len(list))), nil
	case "States.ArrayGetItem":
		return arrayItem(args)
	case "States.JsonToString":
		return string(encode(args[0])), nil
	case "States.StringToJson":
		text, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("found %v; want a text", args[0])
		}
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
		return decode([]byte(text))
	case "States.JsonMerge":
		return merge(args)
	case "States.MathAdd":
		return add(args[0], args[1])
	}
	return nil, fmt.Errorf("isn't supported")
}

func integer(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v isn't a number", v)
	}
	return n.Int64()
}

// add adds numbers that are rounded to whole ones, halves up, as Java does.
func add(x, y any) (any, error) {
	a, errA := rounded(x)
	b, errB := rounded(y)
	if errA != nil || errB != nil {
		return nil, fmt.Errorf("found %s and %s; want numbers", encode(x), encode(y))
	}
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		return nil, fmt.Errorf("the sum of %d and %d is too large", a, b)
	}
	return json.Number(strconv.FormatInt(sum, 10)), nil
}

func rounded(v any) (int64, error) {
	if i, err := integer(v); err == nil {
		return i, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v isn't a number", v)
	}
	f, err := n.Float64()
	if f = math.Floor(f + 0.5); err == nil && math.Abs(f) >= 1<<63 {
		err = fmt.Errorf("%s is too large", n)
	}
	return int64(f), err
}

func format(first dynamic, args []any) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("found %s; want a text", encode(args[0]))
	}
	parts := strings.Split(text, "{}")
	if l, ok := first.(literal); ok {
		parts = l.parts
	}
	if len(parts) != len(args) {
		return nil, fmt.Errorf("%d places and %d values", len(parts)-1, len(args)-1)
	}
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i+1 < len(parts) {
			b.WriteString(shown(args[i+1]))
		}
	}
	return b.String(), nil
}

// shown is a value within a text: objects and arrays as Java writes them.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = shown(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var fields []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, key+"="+shown(v[key]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return string(encode(v))
}

func arrayItem(args []any) (any, error) {
	list, ok := args[0].([]any)
	i, err := integer(args[1])
	if !ok || err != nil || i < 0 || i >= int64(len(list)) {
		return nil, fmt.Errorf("there is no item %v", args[1])
	}
	return list[i], nil
}

// merge is the shallow merge; deep merging isn't in the language yet.
func merge(args []any) (any, error) {
	a, okA := args[0].(map[string]any)
	b, okB := args[1].(map[string]any)
	if deep, _ := args[2].(bool); !okA || !okB || deep {
		return nil, fmt.Errorf("want two objects and false")
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out, nil
}
