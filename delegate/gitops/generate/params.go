package generate

import (
	"encoding/json"
	"fmt"
	"strconv"

	"dario.cat/mergo"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Params is one set of parameters: JSON. With {{key}} each is a text.
type Params map[string]any

func (p Params) clone() Params {
	out := make(Params, len(p))
	for k, v := range p {
		out[k] = cloned(v)
	}
	return out
}

func cloned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return map[string]any(Params(v).clone())
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloned(v[i])
		}
		return out
	}
	return v
}

// deepen puts what over says into p, mapping by mapping. What is empty says
// nothing.
func deepen(p, over Params) error {
	into := map[string]any(p)
	if err := mergo.Merge(&into, map[string]any(over.clone()), mergo.WithOverride); err != nil {
		return fault.New(fault.Invalid, "join parameters: %w", err)
	}
	return nil
}

// key is what a set has for some parameters, as one text. A parameter may be named
// by its path.
func (p Params) key(names []string) (string, error) {
	values := make(map[string]any, len(names))
	for _, name := range names {
		v, ok := p[name]
		if !ok {
			if text, ok := flat(p)[name]; ok {
				v = text
			}
		}
		values[name] = v
	}
	text, err := json.Marshal(values) // its keys are in order
	if err != nil {
		return "", fault.New(fault.Invalid, "merge keys: %w", err)
	}
	return string(text), nil
}

// texts are the parameters with a text for each.
func texts(p Params) Params {
	out := make(Params, len(p))
	for k, v := range p {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// flat are the parameters by their paths: a.b, and a.0 in lists.
func flat(p Params) map[string]string {
	out := map[string]string{}
	for k, v := range p {
		flatten(out, k, v)
	}
	return out
}

func flatten(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, child := range v {
			flatten(out, path+"."+k, child)
		}
	case []any:
		for i, child := range v {
			flatten(out, path+"."+strconv.Itoa(i), child)
		}
	default:
		out[path] = fmt.Sprint(v)
	}
}

// read takes an object into parameters as the notation has them.
func (n *notation) read(object map[string]any) Params {
	if n.golang {
		return object
	}
	p := Params{}
	for path, text := range flat(object) {
		p[path] = text
	}
	return p
}

// values adds the generator's values, which may hold the other parameters but not
// one another.
func (n *notation) values(p Params, values map[string]string) error {
	all := make(map[string]any, len(values))
	for name, text := range values {
		filled, err := n.fill(text, p)
		if err != nil {
			return fault.New(fault.Invalid, "values.%s: %w", name, err)
		}
		all[name] = filled
	}
	n.put(p, "values", all)
	return nil
}

// put adds a mapping under a name: as it is, or with a path for each of its keys.
func (n *notation) put(p Params, name string, all map[string]any) {
	if len(all) == 0 {
		return
	}
	if n.golang {
		p[name] = all
		return
	}
	for k, v := range all {
		p[name+"."+k] = v
	}
}

// labels is a mapping of texts as one of JSON.
func labels(from map[string]string) map[string]any {
	out := make(map[string]any, len(from))
	for k, v := range from {
		out[k] = v
	}
	return out
}

func all[T any](from []T) []any {
	out := make([]any, len(from))
	for i := range from {
		out[i] = from[i]
	}
	return out
}
