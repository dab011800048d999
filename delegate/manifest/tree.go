package manifest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Tree is values on their way to another process. Templates print whole
// numbers and others differently, so its JSON keeps them apart: what isn't
// whole by its type has an exponent.
type Tree map[string]any

// MarshalJSON writes the values (json.Marshaler).
func (t Tree) MarshalJSON() ([]byte, error) { return json.Marshal(marked(map[string]any(t))) }

// UnmarshalJSON reads them (json.Unmarshaler).
func (t *Tree) UnmarshalJSON(doc []byte) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return err
	}
	*t, _ = unmarked(m).(map[string]any)
	return nil
}

func marked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[key] = marked(one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = marked(one)
		}
		return out
	case float64:
		return json.Number(strconv.FormatFloat(v, 'e', -1, 64))
	case interface{ AsMap() map[string]any }: // values of Helm's
		return marked(v.AsMap())
	}
	return v
}

func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			v[key] = unmarked(one)
		}
	case []any:
		for i, one := range v {
			v[i] = unmarked(one)
		}
	case json.Number:
		if whole, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return whole
		}
		f, _ := v.Float64() // it was written as one
		return f
	}
	return v
}
