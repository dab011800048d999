package yamldoc

import (
	"errors"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// The bounds of a document. Compiled Harness YAML has at most 3 MiB
// (semantics/pipeline §1.3); the others stop documents that only pretend to be
// small.
const (
	MaxBytes = 3 << 20
	maxDepth = 200
	maxNodes = 200_000 // of all documents of a file, after aliases are expanded
)

// Parse reads the documents of a file. Each root is given as it is; what is
// wrong with the syntax is in the report, and then no document is given.
func Parse(file string, data []byte) ([]*Node, *Report) {
	r := NewReport(file)
	if len(data) > MaxBytes {
		r.add(Error, Pos{File: file, Line: 1, Column: 1}, "TOO_LARGE", "the file has %d bytes; the limit is %d", len(data), MaxBytes)
		return nil, r
	}
	var docs []*Node
	lines := &lineReader{rest: data}
	dec := yaml.NewDecoder(lines)
	c := converter{report: r}
	for {
		var y yaml.Node
		err := dec.Decode(&y)
		if errors.Is(err, io.EOF) {
			return docs, r
		}
		if err != nil {
			r.syntax(err, lines.line(err), data)
			return nil, r
		}
		root := c.convert(&y, 0, nil)
		if c.broken {
			return nil, r
		}
		docs = append(docs, root)
	}
}

// converter makes our tree of the parser's, with aliases and merge keys
// expanded.
type converter struct {
	report *Report
	nodes  int
	broken bool
}

func (c *converter) fail(y *yaml.Node, format string, args ...any) *Node {
	if !c.broken {
		c.report.add(Error, Pos{File: c.report.file, Line: y.Line, Column: y.Column}, "SYNTAX", format, args...)
	}
	c.broken = true
	return &Node{Line: y.Line, Column: y.Column}
}

// convert converts a node; open holds the anchors that are being expanded, so
// that one that contains itself is found.
func (c *converter) convert(y *yaml.Node, depth int, open []*yaml.Node) *Node {
	if c.nodes++; c.nodes > maxNodes {
		return c.fail(y, "the file has more than %d values when its aliases are expanded", maxNodes)
	}
	if depth > maxDepth {
		return c.fail(y, "the document is nested more than %d deep", maxDepth)
	}
	if c.broken {
		return &Node{}
	}
	n := &Node{Line: y.Line, Column: y.Column}
	switch y.Kind {
	case yaml.AliasNode:
		if slices.Contains(open, y.Alias) {
			return c.fail(y, "anchor %q contains itself", y.Value)
		}
		return c.convert(y.Alias, depth+1, append(slices.Clip(open), y.Alias))
	case yaml.MappingNode:
		n.Kind = Mapping
		c.entries(n, y, depth, open)
	case yaml.SequenceNode:
		n.Kind = Sequence
		for _, item := range y.Content {
			n.Items = append(n.Items, c.convert(item, depth+1, open))
		}
	case yaml.ScalarNode:
		c.scalar(n, y)
	case yaml.DocumentNode:
		if len(y.Content) == 1 {
			return c.convert(y.Content[0], depth, open)
		}
	}
	return n
}

func (c *converter) entries(n *Node, y *yaml.Node, depth int, open []*yaml.Node) {
	var merged []Entry
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			c.fail(key, "a key must be a text")
			return
		}
		v := c.convert(value, depth+1, open)
		if key.Tag == "!!merge" {
			merged = append(merged, mergeable(v)...)
			continue
		}
		n.Entries = append(n.Entries, Entry{Key: key.Value, Line: key.Line, Column: key.Column, Value: v})
	}
	if len(merged) == 0 {
		return
	}
	own := make(map[string]bool, len(n.Entries))
	for _, e := range n.Entries {
		own[e.Key] = true
	}
	for _, e := range merged {
		if !own[e.Key] {
			own[e.Key] = true
			n.Entries = append(n.Entries, e)
		}
	}
}

// mergeable are the entries of a merge key's value: a mapping or a list of them.
func mergeable(v *Node) []Entry {
	if v.Kind != Sequence {
		return v.Entries
	}
	var all []Entry
	for _, item := range v.Items {
		all = append(all, item.Entries...)
	}
	return all
}

func (c *converter) scalar(n *Node, y *yaml.Node) {
	n.Kind, n.Value = Scalar, y.Value
	switch y.ShortTag() {
	case "!!null":
		n.Kind, n.Value = Null, ""
	case "!!int":
		n.Tag = Int
	case "!!float":
		n.Tag = Float
	case "!!bool":
		n.Tag = Bool
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
