package asl

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// path is a reference path: $ or $$ followed by keys and indices. nothing is
// the null that InputPath, OutputPath and ResultPath may be.
type path struct {
	text    string
	context bool // begins with $$
	nothing bool
	parts   []part
}

// part is a key of an object or an index of an array.
type part struct {
	key   string
	index int // -1 for a key
}

// lookup gives the context object, which is made only if a path asks for it.
type lookup func() any

// UnmarshalJSON reads a path.
func (p *path) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := parsePath(text)
	if err == nil {
		*p = *parsed
	}
	return err
}

func parsePath(text string) (*path, error) {
	p := &path{text: text}
	rest, ok := strings.CutPrefix(text, "$$")
	p.context = ok
	if !ok {
		if rest, ok = strings.CutPrefix(text, "$"); !ok {
			return nil, fmt.Errorf("%q isn't a path: it must begin with $", text)
		}
	}
	for rest != "" {
		var next part
		var err error
		if next, rest, err = parsePart(rest); err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		p.parts = append(p.parts, next)
	}
	return p, nil
}

func parsePart(rest string) (part, string, error) {
	switch {
	case strings.HasPrefix(rest, "."):
		end := strings.IndexAny(rest[1:], ".[")
		key := rest[1:]
		if end >= 0 {
			key = rest[1 : end+1]
		}
		if key == "" || strings.ContainsAny(key, "*@?()$,'\" \t\r\n]") {
			return part{}, "", fmt.Errorf("%q isn't supported", rest)
		}
		return part{key: key, index: -1}, rest[1+len(key):], nil
	case strings.HasPrefix(rest, "['"), strings.HasPrefix(rest, `["`):
		return parseQuoted(rest)
	case strings.HasPrefix(rest, "["):
		digits, after, ok := strings.Cut(rest[1:], "]")
		n, err := strconv.ParseUint(digits, 10, 31)
		if !ok || err != nil {
			return part{}, "", fmt.Errorf("%q isn't supported", rest)
		}
		return part{index: int(n)}, after, nil
	}
	return part{}, "", fmt.Errorf("%q isn't supported", rest)
}

// parseQuoted reads a key in brackets, in which a backslash takes the
// character after it as it is.
func parseQuoted(rest string) (part, string, error) {
	var key strings.Builder
	for i := 2; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && i+1 < len(rest):
			i++
			key.WriteByte(rest[i])
		case rest[i] == rest[1]:
			after, ok := strings.CutPrefix(rest[i+1:], "]")
			if !ok {
				return part{}, "", fmt.Errorf("%q isn't supported", rest)
			}
			return part{key: key.String(), index: -1}, after, nil
		default:
			key.WriteByte(rest[i])
		}
	}
	return part{}, "", fmt.Errorf("%q isn't closed", rest)
}

// get reads what the path names; false if it isn't there.
func (p *path) get(data any, context lookup) (any, bool) {
	at := data
	if p.context {
		at = context()
	}
	for _, part := range p.parts {
		if part.index >= 0 {
			list, ok := at.([]any)
			if !ok || part.index >= len(list) {
				return nil, false
			}
			at = list[part.index]
			continue
		}
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[part.key]; !ok {
			return nil, false
		}
	}
	return at, true
}

// must is get with the error for what isn't there, which nothing catches.
func (p *path) must(data any, context lookup) (any, *Failure) {
	v, ok := p.get(data, context)
	if ok {
		return v, nil
	}
	if p.context {
		data = context()
	}
	return nil, &Failure{Name: errRuntime, Cause: fmt.Sprintf("The JSONPath '%s' could not be found in the input '%s'", p.text, encode(data))}
}

// put gives data with v where the path says. Objects on the way are made;
// nothing that data holds is changed.
func (p *path) put(data, v any) (any, *Failure) {
	if p == nil || len(p.parts) == 0 && !p.nothing {
		return v, nil
	}
	if p.nothing {
		return data, nil
	}
	return putAt(data, p.parts, v, p.text)
}

func putAt(data any, parts []part, v any, text string) (any, *Failure) {
	if len(parts) == 0 {
		return v, nil
	}
	if i := parts[0].index; i >= 0 {
		list, ok := data.([]any)
		if !ok || i >= len(list) {
			return nil, unfit(text, data)
		}
		inner, f := putAt(list[i], parts[1:], v, text)
		list = slices.Clone(list)
		list[i] = inner
		return list, f
	}
	m, ok := data.(map[string]any)
	if !ok && data != nil {
		return nil, unfit(text, data)
	}
	inner, f := putAt(m[parts[0].key], parts[1:], v, text)
	if f != nil {
		return nil, f
	}
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}
	m[parts[0].key] = inner
	return m, nil
}

func unfit(text string, data any) *Failure {
	return &Failure{Name: errResultPath, Cause: fmt.Sprintf("Unable to apply ReferencePath %s to input %s", text, encode(data))}
}

// selected applies InputPath or OutputPath: absent is everything, null is {}.
func (p *path) selected(data any, context lookup) (any, *Failure) {
	switch {
	case p == nil:
		return data, nil
	case p.nothing:
		return map[string]any{}, nil
	}
	return p.must(data, context)
}

// number reads a whole number, of at least so much, that the field names.
func (p *path) number(field string, least int64, data any, context lookup) (int64, *Failure) {
	v, ok := p.get(data, context)
	if !ok {
		return 0, &Failure{Name: errRuntime, Cause: fmt.Sprintf("The %s parameter does not reference an input value: %s", field, p.text)}
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, &Failure{Name: errRuntime, Cause: fmt.Sprintf("The %s parameter cannot be parsed as a long value: %s == %s", field, p.text, encode(v))}
	}
	i, err := n.Int64()
	switch {
	case err != nil:
		return 0, &Failure{Name: errRuntime, Cause: fmt.Sprintf("The %s parameter cannot be parsed as a long value: %s == %s", field, p.text, n)}
	case i < least && i < 0:
		return 0, &Failure{Name: errRuntime, Cause: fmt.Sprintf("The %s parameter references a negative value: %s == %d", field, p.text, i)}
	case i < least || i > maxSeconds:
		return 0, &Failure{Name: errRuntime, Cause: fmt.Sprintf("The %s parameter references a value out of its range: %s == %d", field, p.text, i)}
	}
	return i, nil
}
