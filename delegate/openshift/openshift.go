// Package openshift processes OpenShift templates as "oc process --local"
// does: parameters are given or generated, and the template's objects name
// them (semantics/kubernetes §4.5).
//
// It fetches and applies nothing: files come from delegate/manifest, and what
// is made of them is deployed by delegate/kubernetes.
package openshift

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// template is a document of the kind Template.
type template struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Parameters []parameter       `json:"parameters"`
	Objects    []map[string]any  `json:"objects"`
	Labels     map[string]string `json:"labels"`
}

// parameter is a value that objects may name.
type parameter struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Generate string `json:"generate"` // "expression", or empty
	From     string `json:"from"`     // what is generated
	Required bool   `json:"required"`
}

// Processor processes templates.
type Processor struct {
	// Random gives the random bits of the value that is generated for a
	// parameter.
	Random func(parameter string) io.Reader
	// Generated hears of every generated value, which may be a password.
	Generated func(value string)
}

// Process makes the objects of a template: a document of the kind List.
// given are the values of parameters by name; each must be one of the
// template's.
func (p Processor) Process(file manifest.File, given map[string]string) (string, error) {
	t, err := read(file)
	if err != nil {
		return "", err
	}
	values, err := p.values(t.Parameters, given)
	if err != nil {
		return "", fault.Wrap(err, "%s", file.Name)
	}
	items := make([]any, 0, len(t.Objects))
	for _, o := range t.Objects {
		dropNamespace(o)
		made, ok := values.in(o).(map[string]any)
		if !ok {
			return "", fmt.Errorf("%s: an object became something else", file.Name)
		}
		putLabels(made, t.Labels, values)
		items = append(items, made)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return "", fmt.Errorf("%s: write the objects: %w", file.Name, err)
	}
	return string(text), nil
}

// read decodes a template.
func read(file manifest.File) (template, error) {
	doc, err := manifest.Decode(file.Text)
	if err != nil {
		return template{}, fault.New(fault.Invalid, "%s: %w", file.Name, err)
	}
	if kind, _ := doc["kind"].(string); kind != "Template" {
		return template{}, fault.New(fault.Invalid, "%s is of the kind %q; want a Template of OpenShift", file.Name, kind)
	}
	var t template
	text, err := json.Marshal(doc)
	if err == nil {
		err = exactly(text, &t)
	}
	if err != nil {
		return template{}, fault.New(fault.Invalid, "%s: %w", file.Name, err)
	}
	return t, nil
}

// exactly decodes JSON with its numbers as they are written.
func exactly(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("found more after the end of the JSON")
	}
	return nil
}

// values are those of all parameters: what is given, what the template says,
// or what is generated.
func (p Processor) values(list []parameter, given map[string]string) (values, error) {
	out := values{}
	for _, one := range list {
		value, ok := given[one.Name]
		if !ok {
			value = one.Value
		}
		if value == "" && one.Generate != "" {
			var err error
			if value, err = p.generate(one); err != nil {
				return nil, fault.New(fault.Invalid, "parameter %s: %w", one.Name, err)
			}
		}
		if value == "" && one.Required {
			return nil, fault.New(fault.Invalid, "parameter %s is required; no file of parameters gives it a value", one.Name)
		}
		out[one.Name] = value
	}
	for name := range given {
		if _, ok := out[name]; !ok {
			return nil, fault.New(fault.Invalid, "the template has no parameter %q; want one of %s", name, strings.Join(names(list), ", "))
		}
	}
	return out, nil
}

func names(list []parameter) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

func (p Processor) generate(one parameter) (string, error) {
	if one.Generate != "expression" {
		return "", fault.New(fault.Invalid, "generate is %q; want expression", one.Generate)
	}
	value, err := generate(one.From, p.Random(one.Name))
	if err == nil {
		p.Generated(value)
	}
	return value, err
}

// values are parameters by name.
type values map[string]string

var (
	textReference  = regexp.MustCompile(`\$\{([a-zA-Z0-9_]+)\}`)
	valueReference = regexp.MustCompile(`^\$\{\{([a-zA-Z0-9_]+)\}\}$`)
)

// in replaces the references in a value, in the keys of its mappings, too.
func (v values) in(value any) any {
	switch x := value.(type) {
	case string:
		return v.inText(x)
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = v.in(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, item := range x {
			out[v.texts(key)] = v.in(item)
		}
		return out
	}
	return value
}

// inText replaces the references in a text. One that is ${{NAME}} and nothing
// else becomes what its value is as JSON, such as a number; a value that is no
// JSON stays a text.
func (v values) inText(s string) any {
	if m := valueReference.FindStringSubmatch(s); m != nil {
		if value, ok := v[m[1]]; ok {
			var decoded any
			if exactly([]byte(value), &decoded) == nil {
				return decoded
			}
			return value
		}
	}
	return v.texts(s)
}

// texts replaces every ${NAME}. What isn't a parameter stays: it may be meant
// for a shell.
func (v values) texts(s string) string {
	return textReference.ReplaceAllStringFunc(s, func(found string) string {
		if value, ok := v[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// dropNamespace removes a fixed namespace: a template's objects go where it is
// processed for, unless a parameter says where.
func dropNamespace(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	if namespace, ok := meta["namespace"].(string); ok && !textReference.MatchString(namespace) {
		delete(meta, "namespace")
	}
}

// putLabels gives an object the template's labels, over its own.
func putLabels(o map[string]any, labels map[string]string, v values) {
	if len(labels) == 0 {
		return
	}
	meta := mapping(o, "metadata")
	own := mapping(meta, "labels")
	for name, value := range labels {
		own[v.texts(name)] = v.texts(value)
	}
}

// mapping is the mapping at a key, made if there is none.
func mapping(of map[string]any, key string) map[string]any {
	m, ok := of[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[key] = m
	}
	return m
}
