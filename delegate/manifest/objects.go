package manifest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Objects splits a text into its objects, each document of which is decoded by
// Decode or DecodeStrict; lists are expanded.
func Objects(name, text string, decode func(string) (map[string]any, error)) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for i, doc := range documents(text) {
		m, err := decode(doc)
		if err == nil {
			err = onlyOne(doc)
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s, document %d: %w", name, i+1, err)
		}
		if len(m) == 0 {
			continue
		}
		o := &unstructured.Unstructured{Object: m}
		if o.GetKind() == "" || o.GetAPIVersion() == "" {
			return nil, fault.New(fault.Invalid, "%s, document %d: kind or apiVersion is missing", name, i+1)
		}
		found, err := expand(o)
		if err != nil {
			return nil, fault.Wrap(err, "%s, document %d", name, i+1)
		}
		out = append(out, found...)
	}
	return out, nil
}

// expand gives the objects of a list, or the object itself. Items of a list of
// one kind, such as a ServiceList, needn't say their kind.
func expand(o *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	of, isList := strings.CutSuffix(o.GetKind(), "List")
	items, hasItems := o.Object["items"].([]any)
	if !isList || !hasItems {
		if o.GetName() == "" {
			return nil, fault.New(fault.Invalid, "a %s without metadata.name", o.GetKind())
		}
		return []*unstructured.Unstructured{coerce(o)}, nil
	}
	var out []*unstructured.Unstructured
	for i, item := range items {
		inner := &unstructured.Unstructured{}
		inner.Object, _ = item.(map[string]any)
		if of != "" && inner.Object != nil && inner.GetKind() == "" {
			inner.SetKind(of)
			inner.SetAPIVersion(o.GetAPIVersion())
		}
		if inner.GetKind() == "" || inner.GetAPIVersion() == "" {
			return nil, fault.New(fault.Invalid, "item %d of the %s has no kind or apiVersion", i+1, o.GetKind())
		}
		found, err := expand(inner)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// documents splits at lines that begin a document.
func documents(text string) []string {
	var out []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest, begins := begun(line); begins {
			out = append(out, b.String())
			b.Reset()
			line = rest
		}
		b.WriteString(line)
	}
	return append(out, b.String())
}

// begun says whether a line begins a document, by "---" alone or with a blank
// behind it, and gives what the line has of that document.
func begun(line string) (string, bool) {
	rest, marked := strings.CutPrefix(line, "---")
	if strings.Trim(rest, "- \t\r\n") == "" {
		return "", marked
	}
	first := strings.TrimLeft(rest, " \t")
	return first, marked && first != rest
}

// onlyOne refuses a text of several documents, such as one JSON object after
// another: reading it takes the first of them and drops the others.
func onlyOne(doc string) error {
	d := yaml3.NewDecoder(strings.NewReader(doc))
	var n yaml3.Node
	if d.Decode(&n) != nil || errors.Is(d.Decode(&n), io.EOF) {
		return nil // what can't be read at all is reported by who reads it
	}
	return fault.New(fault.Invalid, "a second object follows; want a line of --- between them")
}

// coerce makes texts of annotation and label values that YAML read as
// something else (semantics/kubernetes §4.6), and numbers of JSON's as
// Kubernetes has them.
func coerce(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, key := range []string{"annotations", "labels"} {
		m, ok, _ := unstructured.NestedMap(o.Object, "metadata", key)
		if !ok {
			continue
		}
		for k, v := range m {
			if _, isText := v.(string); !isText {
				m[k] = fmt.Sprint(v)
			}
		}
		_ = unstructured.SetNestedMap(o.Object, m, "metadata", key) // there was one
	}
	return o
}
