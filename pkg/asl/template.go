package asl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// template is Parameters, ResultSelector or ItemSelector: JSON in which a key
// that ends in ".$" gets its value from a path or an intrinsic function.
type template struct{ root any } // of map[string]any, []any, dynamic and plain values

// dynamic is the value of a key that ends in ".$".
type dynamic interface {
	eval(data, context any) (any, *Failure)
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
func (t *template) apply(data, context any) (any, *Failure) {
	if t == nil {
		return data, nil
	}
	return fill(t.root, data, context)
}

func fill(v, data, context any) (any, *Failure) {
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

func (p *path) eval(data, context any) (any, *Failure) { return p.must(data, context) }

// decode reads JSON with its numbers as they are written.
func decode(data []byte) (any, error) {
	if len(data) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // only values that were decoded from JSON come here
	}
	return data
}
