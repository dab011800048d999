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
	if text == "null" {
		p.nothing = true
		return p, nil
	}
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
		if key == "" || strings.ContainsAny(key, "*@?()") {
			return part{}, "", fmt.Errorf("%q isn't supported", rest)
		}
		return part{key: key, index: -1}, rest[1+len(key):], nil
	case strings.HasPrefix(rest, "['"):
		key, after, ok := strings.Cut(rest[2:], "']")
		if !ok {
			return part{}, "", fmt.Errorf("%q isn't closed", rest)
		}
		return part{key: key, index: -1}, after, nil
	case strings.HasPrefix(rest, "["):
		digits, after, ok := strings.Cut(rest[1:], "]")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 {
			return part{}, "", fmt.Errorf("%q isn't supported", rest)
		}
		return part{index: n}, after, nil
	}
	return part{}, "", fmt.Errorf("%q isn't supported", rest)
}

// get reads what the path names; false if it isn't there.
func (p *path) get(data, context any) (any, bool) {
	at := data
	if p.context {
		at = context
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

// must is get with the language's error for what isn't there.
func (p *path) must(data, context any) (any, *Failure) {
	v, ok := p.get(data, context)
	if !ok {
		return nil, &Failure{Name: "States.ParameterPathFailure", Cause: fmt.Sprintf("%s isn't in the state's data", p.text)}
	}
	return v, nil
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
	fail := &Failure{Name: "States.ResultPathMatchFailure", Cause: text + " doesn't fit the state's input"}
	if i := parts[0].index; i >= 0 {
		list, ok := data.([]any)
		if !ok || i >= len(list) {
			return nil, fail
		}
		inner, f := putAt(list[i], parts[1:], v, text)
		list = slices.Clone(list)
		list[i] = inner
		return list, f
	}
	m, ok := data.(map[string]any)
	if !ok && data != nil {
		return nil, fail
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

// selected applies InputPath or OutputPath: absent is everything, null is {}.
func (p *path) selected(data, context any) (any, *Failure) {
	switch {
	case p == nil:
		return data, nil
	case p.nothing:
		return map[string]any{}, nil
	}
	return p.must(data, context)
}

// number reads a whole number that a ...Path field names.
func (p *path) number(data, context any) (int64, *Failure) {
	v, f := p.must(data, context)
	if f != nil {
		return 0, f
	}
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i, nil
		}
	}
	return 0, &Failure{Name: "States.Runtime", Cause: fmt.Sprintf("%s is %v; want a whole number", p.text, v)}
}
