// Package yamldoc reads YAML into trees that keep every place, and collects
// all that is wrong with a document in one report.
//
// It knows YAML and nothing of Harness: which keys a mapping may have is said
// by whoever decodes it (pkg/entity, pkg/step).
package yamldoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the shape of a node.
type Kind uint8

// The kinds. The zero value is an explicit or an absent null.
const (
	Null Kind = iota
	Scalar
	Mapping
	Sequence
)

// Tag is how YAML read a scalar.
type Tag uint8

// The tags. Str is also that of quoted and block scalars.
const (
	Str Tag = iota
	Int
	Float
	Bool
)

// Node is a value of a document with its place. It is never changed once it
// has been parsed: parts are shared between documents. Its JSON form is
// lossless; plans are stored in it.
type Node struct {
	Kind    Kind    `json:"k,omitempty"`
	Value   string  `json:"v,omitempty"` // a scalar's text
	Tag     Tag     `json:"t,omitempty"`
	Entries []Entry `json:"e,omitempty"` // a mapping's, in document order
	Items   []*Node `json:"i,omitempty"` // a sequence's
	Line    int     `json:"l,omitempty"`
	Column  int     `json:"c,omitempty"`
	// File is where the node comes from, if that isn't the document that it
	// stands in: what a template brought. Line and Column are those of File,
	// and those of the entry that holds the node too.
	File string `json:"f,omitempty"`
	// Must is the runtime input that the scalar is the value of, if whether it
	// is allowed shows only once the expressions of both are resolved.
	Must string `json:"m,omitempty"`
}

// Entry is one key of a mapping.
type Entry struct {
	Key    string `json:"key"`
	Line   int    `json:"l,omitempty"` // of the key
	Column int    `json:"c,omitempty"`
	Value  *Node  `json:"v"`
}

// From gives a copy of the tree whose every node says that it comes from a file.
func (n *Node) From(file string) *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.File = file
	c.Entries = slices.Clone(n.Entries)
	for i := range c.Entries {
		c.Entries[i].Value = c.Entries[i].Value.From(file)
	}
	c.Items = slices.Clone(n.Items)
	for i := range c.Items {
		c.Items[i] = c.Items[i].From(file)
	}
	return &c
}

// Size counts the node and all below it.
func (n *Node) Size() int {
	if n == nil {
		return 0
	}
	size := 1
	for _, item := range n.Items {
		size += item.Size()
	}
	for _, e := range n.Entries {
		size += e.Value.Size()
	}
	return size
}

// Get is the value of a mapping's key; nil if there is none or n is no mapping.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Mapping {
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return n.Entries[i].Value
		}
	}
	return nil
}

// Text is the text of a mapping's key; empty if the mapping hasn't the key.
func (n *Node) Text(key string) string {
	if v := n.Get(key); v != nil {
		return v.Value
	}
	return ""
}

// List is a list's items; none if n is no list.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Pairs is a mapping's entries; none if n is no mapping.
func (n *Node) Pairs() []Entry {
	if n == nil {
		return nil
	}
	return n.Entries
}

// At follows keys from mapping to mapping; nil where one is missing.
func (n *Node) At(keys ...string) *Node {
	for _, k := range keys {
		n = n.Get(k)
	}
	return n
}

// With is a mapping with another value of a key that it has.
func (n *Node) With(key string, value *Node) *Node {
	out := *n
	out.Entries = slices.Clone(n.Entries)
	for i := range out.Entries {
		if out.Entries[i].Key == key {
			out.Entries[i].Value = value
		}
	}
	return &out
}

// Without is a mapping without what keys lead to, from mapping to mapping; the
// mapping itself if that isn't there.
func (n *Node) Without(keys ...string) *Node {
	below := n.Get(keys[0])
	if below == nil {
		return n
	}
	if len(keys) > 1 {
		return n.With(keys[0], below.Without(keys[1:]...))
	}
	out := *n
	out.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e Entry) bool { return e.Key == keys[0] })
	return &out
}

// Any is the node as encoding/json would decode it, with ints as int64.
func (n *Node) Any() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Scalar:
		return n.scalar()
	case Mapping:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = e.Value.Any()
		}
		return m
	case Sequence:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Any()
		}
		return list
	case Null:
	}
	return nil
}

func (n *Node) scalar() any {
	switch n.Tag {
	case Int:
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64); err == nil {
			return i
		}
	case Float:
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
	case Bool:
		return strings.EqualFold(n.Value, "true")
	case Str:
	}
	return n.Value
}

// FromAny makes a tree of a value as encoding/json decodes it; every node has
// the given place.
func FromAny(v any, line, column int) *Node {
	n := &Node{Kind: Scalar, Line: line, Column: column}
	switch v := v.(type) {
	case nil:
		n.Kind = Null
	case string:
		n.Value = v
	case bool:
		n.Value, n.Tag = strconv.FormatBool(v), Bool
	case int:
		n.Value, n.Tag = strconv.Itoa(v), Int
	case int64:
		n.Value, n.Tag = strconv.FormatInt(v, 10), Int
	case float64:
		n.Value, n.Tag = strconv.FormatFloat(v, 'f', -1, 64), Float
		if !strings.Contains(n.Value, ".") {
			n.Tag = Int
		}
	case []any:
		n.Kind = Sequence
		for _, item := range v {
			n.Items = append(n.Items, FromAny(item, line, column))
		}
	case map[string]any:
		n.Kind = Mapping
		for _, k := range sortedKeys(v) {
			n.Entries = append(n.Entries, Entry{Key: k, Line: line, Column: column, Value: FromAny(v[k], line, column)})
		}
	default:
		n.Value = fmt.Sprint(v)
	}
	return n
}
