package asl

import (
	"fmt"
	"strings"
)

// parseDynamic reads the value of a key that ends in ".$".
func parseDynamic(text string) (dynamic, error) {
	d, rest, err := parseArgument(strings.TrimSpace(text), 0)
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
func parseArgument(text string, depth int) (dynamic, string, error) {
	text = strings.TrimLeft(text, " ")
	switch {
	case strings.HasPrefix(text, "$"):
		end := pathEnd(text)
		p, err := parsePath(text[:end])
		return p, text[end:], err
	case strings.HasPrefix(text, "'"):
		return parseText(text)
	case strings.HasPrefix(text, "States."):
		return parseCall(text, depth+1)
	}
	end := strings.IndexAny(text, ", )")
	if end < 0 {
		end = len(text)
	}
	v, err := decode([]byte(text[:end]))
	if _, isText := v.(string); err != nil || text[:end] == "" || isText {
		return nil, "", fmt.Errorf("%q isn't a path, a literal or an intrinsic function", text)
	}
	return literal{value: v}, text[end:], nil
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

// parseText reads a text in single quotes. A backslash stands before ', {, }
// and itself, and before nothing else.
func parseText(text string) (dynamic, string, error) {
	var part strings.Builder
	var parts []string
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			if i++; i == len(text) || !strings.ContainsRune(`'{}\`, rune(text[i])) {
				return nil, "", fmt.Errorf("%q: a backslash stands before ', {, } or another one only", text)
			}
			part.WriteByte(text[i])
		case text[i] == '\'':
			parts = append(parts, part.String())
			return literal{value: strings.Join(parts, "{}"), parts: parts}, text[i+1:], nil
		case strings.HasPrefix(text[i:], "{}"):
			parts = append(parts, part.String())
			part.Reset()
			i++
		default:
			part.WriteByte(text[i])
		}
	}
	return nil, "", fmt.Errorf("%q isn't closed", text)
}

// maxNested is how many functions may be within each other.
const maxNested = 10

func parseCall(text string, depth int) (dynamic, string, error) {
	name, rest, ok := strings.Cut(text, "(")
	arity, known := intrinsics()[name]
	if !ok || !known {
		return nil, "", fmt.Errorf("the function %s isn't supported", name)
	}
	if depth > maxNested {
		return nil, "", fmt.Errorf("more than %d functions are within each other", maxNested)
	}
	c := &call{name: name}
	rest, err := c.arguments(rest, depth)
	if err != nil {
		return nil, "", err
	}
	if arity >= 0 && len(c.args) != arity {
		return nil, "", fmt.Errorf("%s takes %d arguments; found %d", name, arity, len(c.args))
	}
	return c, rest, c.check()
}

// arguments reads what stands between the brackets, and the last of them.
func (c *call) arguments(rest string, depth int) (string, error) {
	if after, none := strings.CutPrefix(strings.TrimLeft(rest, " "), ")"); none {
		return after, nil
	}
	for {
		d, after, err := parseArgument(rest, depth)
		if err != nil {
			return "", err
		}
		c.args = append(c.args, d)
		after = strings.TrimLeft(after, " ")
		var ok bool
		if rest, ok = strings.CutPrefix(after, ","); ok {
			continue
		}
		if rest, ok = strings.CutPrefix(after, ")"); !ok {
			return "", fmt.Errorf("%s: want , or ) before %q", c.name, after)
		}
		return rest, nil
	}
}

// check finds arguments that can't be right whatever the data.
func (c *call) check() error {
	switch c.name {
	case "States.Format":
		if len(c.args) == 0 {
			return fmt.Errorf("%s takes at least one argument", c.name)
		}
		if l, ok := c.args[0].(literal); ok && l.parts == nil {
			return fmt.Errorf("%s: found %s; want a text first", c.name, encode(l.value))
		}
	case "States.JsonMerge":
		if l, ok := c.args[2].(literal); ok && l.value != false {
			return fmt.Errorf("%s: found %s; only a shallow merge is in the language: want false", c.name, encode(l.value))
		}
	}
	return nil
}
