package input

import (
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is a document as far as it has inputs that a run needs to be told:
// the runtime inputs as they are written, and what says where they belong
// (semantics/pipeline §2.3). It is nil if there are none.
func Template(doc *yamldoc.Node) *yamldoc.Node {
	m := merger{template: true}
	_, pruned := m.node(doc, spot{})
	return pruned
}

// Form is the template as YAML for a person to fill in: below the given key,
// with defaults filled in and a comment at each input that says what its value
// may be. What is required stays <+input>, which counts as no value.
func Form(key string, doc *yamldoc.Node) []byte {
	m := merger{template: true, inputs: map[*yamldoc.Node]Runtime{}}
	_, pruned := m.node(doc, spot{})
	if pruned == nil {
		return nil
	}
	comments := map[*yamldoc.Node]string{}
	return yamldoc.Format(below(key, prefilled(pruned, m.inputs, comments)), func(n *yamldoc.Node) string { return comments[n] })
}

// Text is a document as YAML below the given key.
func Text(key string, doc *yamldoc.Node) []byte {
	if doc == nil {
		return nil
	}
	return yamldoc.Format(below(key, doc), nil)
}

func below(key string, doc *yamldoc.Node) *yamldoc.Node {
	return &yamldoc.Node{Kind: yamldoc.Mapping, Entries: []yamldoc.Entry{{Key: key, Value: doc}}}
}

// prefilled is a template with its defaults filled in; it notes the comments.
func prefilled(n *yamldoc.Node, inputs map[*yamldoc.Node]Runtime, comments map[*yamldoc.Node]string) *yamldoc.Node {
	c := copyOf(n)
	for i, e := range c.Entries {
		c.Entries[i].Value = prefilled(e.Value, inputs, comments)
	}
	for i, item := range c.Items {
		c.Items[i] = prefilled(item, inputs, comments)
	}
	r, ok := inputs[n]
	if !ok || r.Input.AtStart {
		return c
	}
	if c.Value = "<+input>"; r.HasDefault {
		c.Value = r.Default
	}
	comments[c] = r.Describe()
	return c
}
