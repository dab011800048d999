package asl

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// call is an intrinsic function with its arguments.
type call struct {
	name string
	args []dynamic
}

// literal is an argument that is written out.
type literal struct{ value any }

func (l literal) eval(any, any) (any, *Failure) { return l.value, nil }

// intrinsics are the functions that are supported, by their number of
// arguments; -1 is any number, but at least one.
func intrinsics() map[string]int {
	return map[string]int{
		"States.Format": -1, "States.Array": -1, "States.ArrayLength": 1, "States.ArrayGetItem": 2,
		"States.JsonToString": 1, "States.StringToJson": 1, "States.JsonMerge": 3, "States.MathAdd": 2,
	}
}

// parseDynamic reads the value of a key that ends in ".$".
func parseDynamic(text string) (dynamic, error) {
	d, rest, err := parseArgument(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(rest) != "" {
		return nil, fmt.Errorf("%q: found %q after the end", text, rest)
	}
	if _, ok := d.(literal); ok {
		return nil, fmt.Errorf("%q: want a path or an intrinsic function", text)
	}
	return d, nil
}

// parseArgument reads a path, a call or a literal and gives what is left.
func parseArgument(text string) (dynamic, string, error) {
	text = strings.TrimLeft(text, " ")
	switch {
	case strings.HasPrefix(text, "$"):
		end := pathEnd(text)
		p, err := parsePath(text[:end])
		return p, text[end:], err
	case strings.HasPrefix(text, "'"):
		return parseText(text)
	case strings.HasPrefix(text, "States."):
		return parseCall(text)
	}
	end := strings.IndexAny(text, ", )")
	if end < 0 {
		end = len(text)
	}
	v, err := decode([]byte(text[:end]))
	if err != nil || text[:end] == "" {
		return nil, "", fmt.Errorf("%q isn't a path, a literal or an intrinsic function", text)
	}
	return literal{v}, text[end:], nil
}

// pathEnd is where a path ends: at a space, a comma or a bracket that isn't
// part of a quoted key.
func pathEnd(text string) int {
	for i := 0; i < len(text); i++ {
		if quoted, ok := strings.CutPrefix(text[i:], "['"); ok {
			if end := strings.Index(quoted, "']"); end >= 0 {
				i += len("['") + end + len("']") - 1
				continue
			}
		}
		if strings.IndexByte(", )", text[i]) >= 0 {
			return i
		}
	}
	return len(text)
}

func parseText(text string) (dynamic, string, error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		case '\'':
			return literal{b.String()}, text[i+1:], nil
		default:
			b.WriteByte(text[i])
		}
	}
	return nil, "", fmt.Errorf("%q isn't closed", text)
}

func parseCall(text string) (dynamic, string, error) {
	name, rest, ok := strings.Cut(text, "(")
	arity, known := intrinsics()[name]
	if !ok || !known {
		return nil, "", fmt.Errorf("the function %s isn't supported", name)
	}
	c := &call{name: name}
	for {
		d, after, err := parseArgument(rest)
		if err != nil {
			return nil, "", err
		}
		c.args = append(c.args, d)
		after = strings.TrimLeft(after, " ")
		if rest, ok = strings.CutPrefix(after, ","); ok {
			continue
		}
		if rest, ok = strings.CutPrefix(after, ")"); !ok {
			return nil, "", fmt.Errorf("%s: want , or ) before %q", name, after)
		}
		break
	}
	if arity >= 0 && len(c.args) != arity {
		return nil, "", fmt.Errorf("%s takes %d arguments; found %d", name, arity, len(c.args))
	}
	return c, rest, nil
}

func (c *call) eval(data, context any) (any, *Failure) {
	args := make([]any, len(c.args))
	for i, a := range c.args {
		var f *Failure
		if args[i], f = a.eval(data, context); f != nil {
			return nil, f
		}
	}
	v, err := c.run(args)
	if err != nil {
		return nil, &Failure{Name: "States.IntrinsicFailure", Cause: c.name + ": " + err.Error()}
	}
	return v, nil
}

func (c *call) run(args []any) (any, error) {
	switch c.name {
	case "States.Format":
		return format(args)
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
		return decode([]byte(text))
	case "States.JsonMerge":
		return merge(args)
	case "States.MathAdd":
		a, errA := integer(args[0])
		b, errB := integer(args[1])
		if errA != nil || errB != nil {
			return nil, fmt.Errorf("found %v and %v; want whole numbers", args[0], args[1])
		}
		return json.Number(strconv.FormatInt(a+b, 10)), nil
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

func format(args []any) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("found %v; want a text", args[0])
	}
	parts := strings.Split(text, "{}")
	if len(parts) != len(args) {
		return nil, fmt.Errorf("%d places and %d values", len(parts)-1, len(args)-1)
	}
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i+1 == len(parts) {
			break
		}
		if s, ok := args[i+1].(string); ok {
			b.WriteString(s)
		} else {
			b.Write(encode(args[i+1]))
		}
	}
	return b.String(), nil
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
