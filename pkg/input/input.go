// Package input fills the runtime inputs of documents: the scalars that are
// `<+input>` with its suffixes (pipeline spec §2).
//
// It works on documents, not on typed entities, because a runtime input may
// stand for any value. Expressions other than `<+input>` are left alone.
package input

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Runtime is one runtime input of a document.
type Runtime struct {
	Path   string // e.g. "variables.image": list wrappers are named by their identifiers
	Input  expr.Input
	Line   int
	Column int
}

// Find lists a document's runtime inputs in document order.
func Find(doc *yamldoc.Node) []Runtime {
	var found []Runtime
	walk(doc, nil, func(n *yamldoc.Node, path []string) *yamldoc.Node {
		if in, ok := runtime(n); ok {
			found = append(found, Runtime{Path: strings.Join(path, "."), Input: in, Line: n.Line, Column: n.Column})
		}
		return n
	})
	return found
}

func runtime(n *yamldoc.Node) (expr.Input, bool) {
	if n.Kind != yamldoc.Scalar || !expr.IsRuntimeInput(n.Value) {
		return expr.Input{}, false
	}
	in, err := expr.ParseInput(n.Value)
	return in, err == nil
}

// Fill gives the document with its runtime inputs replaced: by the value
// under their path, else by their default, else, for a variable that isn't
// required, by an empty text. What can't be filled is reported all at once.
func Fill(doc *yamldoc.Node, values map[string]string) (*yamldoc.Node, error) {
	left := maps.Clone(values)
	var wrong []fault.Detail
	filled := walk(doc, nil, func(n *yamldoc.Node, path []string) *yamldoc.Node {
		in, ok := runtime(n)
		if !ok {
			return n
		}
		name := strings.Join(path, ".")
		value, given := values[name]
		delete(left, name)
		switch {
		case given:
			if err := in.Check(value); err != nil {
				wrong = append(wrong, detail(n, name, err.Error()))
			}
		case in.HasDefault:
			value = in.Default
		default:
			wrong = append(wrong, detail(n, name, "a value is needed: it is a runtime input without a default"))
		}
		return scalar(n, value)
	})
	for _, name := range slices.Sorted(maps.Keys(left)) {
		wrong = append(wrong, fault.Detail{Path: name, Severity: "error", Message: "isn't a runtime input; there are: " + names(doc)})
	}
	if len(wrong) > 0 {
		return nil, fault.New(fault.Invalid, "the inputs don't fit: %s", summary(wrong)).With(wrong...)
	}
	return filled, nil
}

func detail(n *yamldoc.Node, path, message string) fault.Detail {
	return fault.Detail{Path: path, Line: n.Line, Column: n.Column, Severity: "error", Message: message}
}

func summary(wrong []fault.Detail) string {
	parts := make([]string, len(wrong))
	for i, d := range wrong {
		parts[i] = d.Path + ": " + d.Message
	}
	return strings.Join(parts, "; ")
}

func names(doc *yamldoc.Node) string {
	var paths []string
	for _, r := range Find(doc) {
		paths = append(paths, r.Path)
	}
	if len(paths) == 0 {
		return "none"
	}
	return strings.Join(paths, ", ")
}

// scalar is a value given as text, read as YAML reads a plain scalar.
func scalar(n *yamldoc.Node, value string) *yamldoc.Node {
	out := *n
	out.Value, out.Tag = value, yamldoc.Str
	return &out
}

// Overlay fills a document's runtime inputs from another document of the same
// shape, such as a stage's serviceInputs for a service (entities spec §6).
// Where the overlay says nothing, the input stays for Fill.
func Overlay(doc, over *yamldoc.Node) *yamldoc.Node {
	values := map[string]*yamldoc.Node{}
	if over != nil {
		walk(over, nil, func(n *yamldoc.Node, path []string) *yamldoc.Node {
			values[strings.Join(path, ".")] = n
			return n
		})
	}
	return walk(doc, nil, func(n *yamldoc.Node, path []string) *yamldoc.Node {
		if _, ok := runtime(n); !ok {
			return n
		}
		if v, ok := values[strings.Join(path, ".")]; ok {
			return v
		}
		return n
	})
}

// wrappers are the keys whose mapping stands for an item of a list.
func wrapper(key string) bool {
	switch key {
	case "stage", "step", "stepGroup", "manifest", "configFile", "sidecar":
		return true
	}
	return false
}

// walk visits every scalar with its path and rebuilds the document from what
// the visitor gives back. Unchanged parts are shared.
func walk(n *yamldoc.Node, path []string, visit func(*yamldoc.Node, []string) *yamldoc.Node) *yamldoc.Node {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yamldoc.Mapping:
		return walkMapping(n, path, visit)
	case yamldoc.Sequence:
		return walkSequence(n, path, visit)
	case yamldoc.Scalar, yamldoc.Null:
	}
	return visit(n, path)
}

func walkMapping(n *yamldoc.Node, path []string, visit func(*yamldoc.Node, []string) *yamldoc.Node) *yamldoc.Node {
	out := n
	for i, e := range n.Entries {
		v := walk(e.Value, below(path, e.Key), visit)
		if v == e.Value {
			continue
		}
		if out == n {
			c := *n
			c.Entries = slices.Clone(n.Entries)
			out = &c
		}
		out.Entries[i].Value = v
	}
	return out
}

func walkSequence(n *yamldoc.Node, path []string, visit func(*yamldoc.Node, []string) *yamldoc.Node) *yamldoc.Node {
	out := n
	for i, item := range n.Items {
		v := walkItem(item, path, visit)
		if v == item {
			continue
		}
		if out == n {
			c := *n
			c.Items = slices.Clone(n.Items)
			out = &c
		}
		out.Items[i] = v
	}
	return out
}

// walkItem names a list's item by what identifies it (pipeline spec §2.3):
// a wrapped item by its identifier, a variable by its name, whose value then
// has the path of the variable. The wrapper "parallel" vanishes.
func walkItem(item *yamldoc.Node, path []string, visit func(*yamldoc.Node, []string) *yamldoc.Node) *yamldoc.Node {
	if item.Kind != yamldoc.Mapping {
		return walk(item, path, visit)
	}
	if len(item.Entries) == 1 {
		key, inner := item.Entries[0].Key, item.Entries[0].Value
		if name := text(inner, "identifier"); wrapper(key) && name != "" {
			return rewrap(item, walk(inner, below(path, name), visit))
		}
		if key == "parallel" {
			return rewrap(item, walk(inner, path, visit))
		}
	}
	if name := text(item, "name"); name != "" && item.Get("value") != nil {
		return walkVariable(item, below(path, name), visit)
	}
	if name := text(item, "identifier"); name != "" {
		return walk(item, below(path, name), visit)
	}
	return walk(item, path, visit)
}

// walkVariable visits a variable's value under the variable's own path.
func walkVariable(item *yamldoc.Node, path []string, visit func(*yamldoc.Node, []string) *yamldoc.Node) *yamldoc.Node {
	c := *item
	c.Entries = slices.Clone(item.Entries)
	changed := false
	for i, e := range c.Entries {
		at := below(path, e.Key)
		if e.Key == "value" {
			at = path
		}
		c.Entries[i].Value = walk(e.Value, at, visit)
		changed = changed || c.Entries[i].Value != e.Value
	}
	if !changed {
		return item
	}
	return &c
}

func rewrap(item, inner *yamldoc.Node) *yamldoc.Node {
	if inner == item.Entries[0].Value {
		return item
	}
	c := *item
	c.Entries = slices.Clone(item.Entries)
	c.Entries[0].Value = inner
	return &c
}

func text(n *yamldoc.Node, key string) string {
	if n == nil || n.Kind != yamldoc.Mapping {
		return ""
	}
	if f := n.Get(key); f != nil && f.Kind == yamldoc.Scalar {
		return f.Value
	}
	return ""
}

func below(path []string, key string) []string {
	return append(slices.Clip(path), key)
}
