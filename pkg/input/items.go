package input

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// naming are the keys that tell the items of a list apart, the first that an
// item has (semantics/pipeline §2.3).
func naming() []string {
	return []string{"identifier", "name", "environmentRef", "serviceRef", "key"}
}

// identity finds the key and the value that tell a mapping from the other
// items of its list. One that isn't known before the run tells nothing.
func identity(n *yamldoc.Node) (key, value string) {
	for _, key := range naming() {
		if v := n.Get(key); v != nil && v.Kind == yamldoc.Scalar && v.Value != "" && !strings.Contains(v.Value, "<+") {
			return key, v.Value
		}
	}
	return "", ""
}

// identifies says whether an entry stays in a template though it is no input:
// it says which item is meant, or of which type.
func identifies(n *yamldoc.Node, e yamldoc.Entry) bool {
	if e.Value == nil || e.Value.Kind != yamldoc.Scalar || strings.Contains(e.Value.Value, "<+") {
		return false
	}
	key, _ := identity(n)
	return e.Key == key || e.Key == "type"
}

// isVariable says whether a mapping is a name with its value.
func isVariable(n *yamldoc.Node) bool {
	key, _ := identity(n)
	return key == "name" && n.Get("value") != nil
}

// item is an item of a list with its name; the name is empty if nothing
// identifies it.
type item struct {
	wrapper string // stage, step, stepGroup, ...; empty: the item has none
	name    string
}

// nameOf names an item. A mapping with one key whose value has an identifier
// is a wrapper, e.g. {stage: {identifier: deploy}}.
func nameOf(n *yamldoc.Node) item {
	if n == nil || n.Kind != yamldoc.Mapping {
		return item{}
	}
	if len(n.Entries) == 1 {
		if key, name := identity(n.Entries[0].Value); key == "identifier" {
			return item{wrapper: n.Entries[0].Key, name: name}
		}
	}
	_, name := identity(n)
	return item{name: name}
}

// block is the list of a parallel block, nil if an item is none. Its members
// keep the names that they would have without it.
func block(n *yamldoc.Node) *yamldoc.Node {
	if n == nil || n.Kind != yamldoc.Mapping || len(n.Entries) != 1 || n.Entries[0].Key != "parallel" {
		return nil
	}
	if list := n.Entries[0].Value; list != nil && list.Kind == yamldoc.Sequence {
		return list
	}
	return nil
}

// catalogue is a source's list by the names of its items.
type catalogue struct {
	given
	named map[item]*yamldoc.Node
	plain []*yamldoc.Node // by index
	order []item          // of named
}

// catalogueOf sorts the items of a source for a document's list. Where items
// of that are told apart by their place, because their names are inputs
// themselves, so are those of the source that have names which it hasn't.
func catalogueOf(g given, list *yamldoc.Node) *catalogue {
	c := &catalogue{given: g, named: map[item]*yamldoc.Node{}}
	names := map[item]bool{}
	c.add(g.node, names, !note(list, names))
	return c
}

// note takes down the names of a list's items; false if one has none.
func note(list *yamldoc.Node, names map[item]bool) bool {
	all := true
	for _, n := range list.Items {
		if b := block(n); b != nil {
			all = note(b, names) && all
			continue
		}
		name := nameOf(n)
		names[name] = true
		all = all && name.name != ""
	}
	return all
}

func (c *catalogue) add(list *yamldoc.Node, names map[item]bool, byPlace bool) {
	for _, n := range list.Items {
		if b := block(n); b != nil {
			c.add(b, names, byPlace)
			continue
		}
		name := nameOf(n)
		if name.name == "" || byPlace && !names[name] {
			c.plain = append(c.plain, n)
			continue
		}
		if _, twice := c.named[name]; !twice {
			c.order = append(c.order, name)
		}
		c.named[name] = n
	}
}

// lister walks a list, through its parallel blocks.
type lister struct {
	*merger
	at      spot
	sources []*catalogue
	met     map[item]bool
	plain   int // items without a name so far
}

func (m *merger) sequence(n *yamldoc.Node, at spot) (filled, pruned *yamldoc.Node) {
	l := lister{merger: m, at: at, met: map[item]bool{}}
	for _, g := range at.given {
		switch {
		case g.node.Kind == yamldoc.Sequence:
			l.sources = append(l.sources, catalogueOf(g, n))
		case !m.blank(g.node):
			m.excess(g, g.node, at.name(), "isn't a runtime input; the document has a list here")
		}
	}
	filled, pruned = l.items(n)
	for _, c := range l.sources {
		l.left(c)
	}
	return filled, pruned
}

func (l *lister) items(n *yamldoc.Node) (filled, pruned *yamldoc.Node) {
	filled = n
	parts := make([]*yamldoc.Node, len(n.Items))
	inputs, positional := false, false
	for i, one := range n.Items {
		v, part := l.item(one)
		inputs = inputs || part != nil
		positional = positional || block(one) == nil && nameOf(one).name == ""
		parts[i] = part
		if v == one {
			continue
		}
		if filled == n {
			filled = copyOf(n)
		}
		filled.Items[i] = v
	}
	if !inputs {
		return filled, nil
	}
	pruned = &yamldoc.Node{Kind: yamldoc.Sequence, Line: n.Line, Column: n.Column, File: n.File}
	for i, part := range parts {
		if part == nil && positional {
			part = n.Items[i] // the others' places depend on it
		}
		if part != nil {
			pruned.Items = append(pruned.Items, part)
		}
	}
	return filled, pruned
}

// item fills one item, below the name that it has in its list.
func (l *lister) item(n *yamldoc.Node) (filled, pruned *yamldoc.Node) {
	if b := block(n); b != nil {
		filled, pruned = l.items(b)
		return rewrap(n, filled), rewrap(n, pruned)
	}
	name := nameOf(n)
	at := spot{path: l.at.path}
	if name.name == "" {
		for _, c := range l.sources {
			if l.plain < len(c.plain) && c.plain[l.plain] != nil {
				at.given = append(at.given, given{c.plain[l.plain], c.lenient, c.set})
			}
		}
		l.plain++
		at.path = append(at.path[:len(at.path):len(at.path)], strconv.Itoa(l.plain-1))
		return l.node(n, at)
	}
	l.met[name] = true
	at.path = append(at.path[:len(at.path):len(at.path)], name.name)
	inner := n
	if name.wrapper != "" {
		inner = n.Entries[0].Value
	}
	for _, c := range l.sources {
		if v := c.named[name]; v != nil {
			if name.wrapper != "" {
				v = v.Entries[0].Value
			}
			at.given = append(at.given, given{v, c.lenient, c.set})
		}
	}
	if name.wrapper == "" {
		return l.node(n, at)
	}
	filled, pruned = l.node(inner, at)
	return rewrap(n, filled), rewrap(n, pruned)
}

// left reports the items of a source that the document doesn't have.
func (l *lister) left(c *catalogue) {
	for _, name := range c.order {
		if !l.met[name] {
			l.excess(c.given, c.named[name], l.at.below(nil, name.name).name(), "isn't in the document")
		}
	}
	for i := l.plain; i < len(c.plain); i++ {
		if n := c.plain[i]; n != nil && !blank(n) {
			l.excess(c.given, n, l.at.below(nil, cmp.Or(nameOf(n).name, strconv.Itoa(i))).name(), "isn't in the document")
		}
	}
}

// rewrap puts an inner value back into its wrapper.
func rewrap(n, inner *yamldoc.Node) *yamldoc.Node {
	if inner == nil || inner == n.Entries[0].Value {
		if inner == nil {
			return nil
		}
		return n
	}
	c := copyOf(n)
	c.Entries[0].Value = inner
	return c
}
