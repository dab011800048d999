package input

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Source is one set of values: a document of the same shape as the one that is
// filled, with values where that has runtime inputs.
type Source struct {
	// Doc says in its nodes which file they come from (yamldoc.Node.From).
	Doc *yamldoc.Node
	// Lenient makes a value that has no place a warning: the document was
	// changed since an input set was saved (semantics/pipeline §2.4).
	Lenient bool
	// Set says that it is an input set: an empty text there leaves the input to
	// the run, as <+input> does. Elsewhere it is a value.
	Set bool
}

// Merged is a document with its runtime inputs filled in.
type Merged struct {
	// Doc is the whole document. An input that has no value stands as it was.
	Doc *yamldoc.Node
	// Inputs is what was filled in: the document as far as it has inputs, with
	// their values. nil: it has none.
	Inputs *yamldoc.Node
	// Values are what the inputs have been filled with, in the document's order.
	Values []Value
	// Wrong are values that have no place or aren't allowed.
	Wrong []fault.Detail
	// Missing are inputs that need a value and have none.
	Missing []fault.Detail
	// Warnings are values of lenient sources that have no place.
	Warnings []fault.Detail

	found []Runtime
}

// Value is what an input has been filled with.
type Value struct {
	Path string `json:"path" doc:"As the pipeline's inputs have it"`
	Text string `json:"text" doc:"A list or a mapping as YAML"`
	From string `json:"from" enum:"given,inputs,set,default" doc:"given by its path, in the inputs as YAML, in an input set, or nowhere: then it is the default"`
	Set  string `json:"set,omitempty" doc:"The input set that it comes from"`
	// Structured values can't be given by their path.
	Structured bool `json:"structured,omitempty" doc:"It is a list or a mapping"`
}

// Err says what stops a run, all at once; nil if nothing does.
func (m Merged) Err() error {
	all := slices.Concat(m.Missing, m.Wrong)
	if len(all) == 0 {
		return nil
	}
	const shown = 10
	parts := make([]string, 0, shown)
	for i, d := range all {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more", len(all)-shown))
			break
		}
		parts = append(parts, d.Path+": "+d.Message)
	}
	return fault.New(fault.Invalid, "the inputs don't fit: %s", strings.Join(parts, "; ")).With(all...)
}

// Merge fills a document's runtime inputs (semantics/pipeline §2.4). For each
// of them the last source that says something wins, and a value by its path
// over all sources; else its default counts. Items of lists are matched by
// what identifies them, through parallel blocks. What stands at an input is
// taken as a whole, be it a scalar, a list or a mapping.
func Merge(doc *yamldoc.Node, values map[string]string, sources ...Source) Merged {
	return merge(merger{}, doc, values, sources)
}

func merge(m merger, doc *yamldoc.Node, values map[string]string, sources []Source) Merged {
	m.values = maps.Clone(values)
	at := spot{}
	for _, s := range sources {
		if s.Doc != nil {
			at.given = append(at.given, given{node: s.Doc, lenient: s.Lenient, set: s.Set})
		}
	}
	m.out.Doc, m.out.Inputs = m.node(doc, at)
	m.out.found = m.found
	for _, path := range slices.Sorted(maps.Keys(m.values)) {
		m.out.Wrong = append(m.out.Wrong, fault.Detail{
			Path: path, Severity: severityError, Code: NoInput, Message: "isn't a runtime input; there are: " + m.out.Names(),
		})
	}
	return m.out
}

// Names lists the document's inputs for a message.
func (m Merged) Names() string {
	const shown = 20
	var paths []string
	for _, r := range m.found {
		if len(paths) == shown {
			paths = append(paths, "...")
			break
		}
		paths = append(paths, r.Path)
	}
	if len(paths) == 0 {
		return "none"
	}
	return strings.Join(paths, ", ")
}

// merger walks a document and all sources side by side.
type merger struct {
	// template keeps the inputs instead of filling them.
	template bool
	// overlay keeps those that the source says nothing about, or again asks for.
	overlay bool
	// late asks for the inputs that are asked for while the pipeline runs.
	late   bool
	values map[string]string // by path; what is left has no place
	found  []Runtime
	inputs map[*yamldoc.Node]Runtime // by where they stand; nil: nobody asks
	strays []*yamldoc.Node           // values that have no place
	out    Merged
}

// given is what a source has at the place where the walk is; never nil.
type given struct {
	node    *yamldoc.Node
	lenient bool
	set     bool
}

// silent says whether a source leaves an input to others.
func (g given) silent() bool {
	return blank(g.node) || g.set && g.node.Kind == yamldoc.Scalar && g.node.Value == ""
}

// spot is a place of the document with what the sources have there.
type spot struct {
	path  []string
	given []given
	// variable is the mapping whose value is here; nil elsewhere.
	variable *yamldoc.Node
	key      string // of the mapping that the value stands in
}

func (at spot) name() string { return strings.Join(at.path, ".") }

// below is the spot of a mapping's key. A variable's value has the path of
// the variable.
func (at spot) below(n *yamldoc.Node, key string) spot {
	sub := spot{path: append(slices.Clip(at.path), key), key: key}
	if key == "value" && isVariable(n) {
		sub.path, sub.variable = at.path, n
	}
	for _, g := range at.given {
		if v := g.node.Get(key); v != nil {
			sub.given = append(sub.given, given{v, g.lenient, g.set})
		}
	}
	return sub
}

// node gives a part of the document filled, and pruned to its inputs: nil if
// it has none. Unchanged parts are shared with the document.
func (m *merger) node(n *yamldoc.Node, at spot) (filled, pruned *yamldoc.Node) {
	if n == nil {
		return nil, nil
	}
	switch n.Kind {
	case yamldoc.Mapping:
		return m.mapping(n, at)
	case yamldoc.Sequence:
		return m.sequence(n, at)
	case yamldoc.Scalar, yamldoc.Null:
	}
	if in, ok := runtime(n); ok {
		return m.input(n, in, at)
	}
	for _, g := range at.given {
		if !m.blank(g.node) && (g.node.Kind != yamldoc.Scalar || g.node.Value != n.Value) {
			m.excess(g, g.node, at.name(), fmt.Sprintf("isn't a runtime input: %q is fixed", n.Value))
		}
	}
	return n, nil
}

func (m *merger) mapping(n *yamldoc.Node, at spot) (filled, pruned *yamldoc.Node) {
	for i := range at.given {
		at.given[i].node = lifted(n, at.given[i].node)
		m.strangers(n, at.given[i], at)
	}
	filled, kept := n, make(map[int]*yamldoc.Node, 1)
	for i, e := range n.Entries {
		v, part := m.node(e.Value, at.below(n, e.Key))
		if part != nil {
			kept[i] = part
		}
		if v == e.Value {
			continue
		}
		if filled == n {
			filled = copyOf(n)
		}
		filled.Entries[i].Value = v
		if v.File != e.Value.File { // an entry is where its value is
			filled.Entries[i].Line, filled.Entries[i].Column = v.Line, v.Column
		}
	}
	if len(kept) == 0 {
		return filled, nil
	}
	pruned = &yamldoc.Node{Kind: yamldoc.Mapping, Line: n.Line, Column: n.Column, File: n.File}
	for i, e := range n.Entries {
		if part, ok := kept[i]; ok {
			e.Value = part
		} else if !identifies(n, e) {
			continue
		}
		pruned.Entries = append(pruned.Entries, e)
	}
	return filled, pruned
}

// strangers reports the keys of a source that the document doesn't have.
func (m *merger) strangers(n *yamldoc.Node, g given, at spot) {
	if g.node.Kind != yamldoc.Mapping {
		if !blank(g.node) {
			m.excess(g, g.node, at.name(), "isn't a runtime input; the document has a mapping here")
		}
		return
	}
	for _, e := range g.node.Entries {
		if n.Get(e.Key) == nil {
			key := &yamldoc.Node{File: g.node.File, Line: e.Line, Column: e.Column}
			m.excess(g, key, strings.Join(append(slices.Clip(at.path), e.Key), "."), "isn't in the document")
			m.strays = append(m.strays, e.Value)
		}
	}
}

// The codes of what is wrong with inputs; docs/inputs.md explains them.
const (
	NoInput      = "NOT_AN_INPUT" // a value has no place
	notAllowed   = "VALUE_NOT_ALLOWED"
	missingInput = "MISSING_INPUT"
	badInput     = "BAD_TEMPLATE_INPUT"
)

const severityError = "error"

// excess reports a value of a source that has no place in the document.
func (m *merger) excess(g given, stray *yamldoc.Node, path, message string) {
	m.strays = append(m.strays, stray)
	d := fault.Detail{
		File: stray.File, Path: path, Line: stray.Line, Column: stray.Column, Severity: severityError, Code: NoInput, Message: message,
	}
	if g.lenient {
		d.Severity = "warning"
		m.out.Warnings = append(m.out.Warnings, d)
		return
	}
	m.out.Wrong = append(m.out.Wrong, d)
}

// blank says whether a source says nothing at a place: null, or a runtime
// input that has been left as the template had it.
func blank(n *yamldoc.Node) bool {
	if n.Kind == yamldoc.Null {
		return true
	}
	_, ok := runtime(n)
	return ok
}

// blank is the same, but that an overlay may ask again.
func (m *merger) blank(n *yamldoc.Node) bool {
	return blank(n) && (!m.overlay || n.Kind == yamldoc.Null)
}

func copyOf(n *yamldoc.Node) *yamldoc.Node {
	c := *n
	c.Entries, c.Items = slices.Clone(n.Entries), slices.Clone(n.Items)
	return &c
}
