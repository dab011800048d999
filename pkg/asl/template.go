package asl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// template is Parameters, ResultSelector or ItemSelector: JSON in which a key
// that ends in ".$" gets its value from a path or an intrinsic function.
type template struct{ root any } // of map[string]any, []any, dynamic and plain values

// dynamic is the value of a key that ends in ".$".
type dynamic interface {
	eval(data any, context lookup) (any, *Failure)
}

// UnmarshalJSON reads and checks a template.
func (t *template) UnmarshalJSON(data []byte) error {
	v, err := decode(data)
	if err != nil {
		return err
	}
	t.root, err = compile(v)
	return err
}

func compile(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			name, isDynamic := strings.CutSuffix(key, ".$")
			if _, both := v[name]; isDynamic && both {
				return nil, fmt.Errorf("found %s and %s; want one of them", name, key)
			}
			if !isDynamic {
				inner, err := compile(value)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", key, err)
				}
				out[key] = inner
				continue
			}
			text, ok := value.(string)
			if !ok {
				return nil, fmt.Errorf("%s: found %v; want a path or an intrinsic function", key, value)
			}
			d, err := parseDynamic(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			out[name] = d
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			inner, err := compile(item)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = inner
		}
		return out, nil
	}
	return v, nil
}

// apply fills the template in; a nil one gives the data itself.
func (t *template) apply(data any, context lookup) (any, *Failure) {
	if t == nil {
		return data, nil
	}
	return fill(t.root, data, context)
}

func fill(v, data any, context lookup) (any, *Failure) {
	switch v := v.(type) {
	case dynamic:
		return v.eval(data, context)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			inner, f := fill(value, data, context)
			if f != nil {
				return nil, f
			}
			out[key] = inner
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			inner, f := fill(item, data, context)
			if f != nil {
				return nil, f
			}
			out[i] = inner
		}
		return out, nil
	}
	return v, nil
}

func (p *path) eval(data any, context lookup) (any, *Failure) { return p.must(data, context) }

// text is a path or an intrinsic function that must give a text: ErrorPath or
// CausePath.
type text struct{ dynamic }

// UnmarshalJSON reads the field.
func (t *text) UnmarshalJSON(data []byte) error {
	var written string
	if err := json.Unmarshal(data, &written); err != nil {
		return err
	}
	d, err := parseDynamic(written)
	if err != nil {
		return err
	}
	if c, ok := d.(*call); ok && !slices.Contains([]string{"States.Format", "States.JsonToString", "States.ArrayGetItem"}, c.name) {
		return fmt.Errorf("%s gives no text", c.name)
	}
	t.dynamic = d
	return nil
}
