package input

import (
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is a document as far as it has inputs that a run needs to be told:
// the runtime inputs as they are written, and what says where they belong
// (pipeline spec §2.3). It is nil if there are none.
func Template(doc *yamldoc.Node) *yamldoc.Node {
	m := merger{template: true}
	_, pruned := m.node(doc, spot{})
	return pruned
}

// Form is the template as YAML for a person to fill in: below the given key,
// with defaults filled in and a comment at each input that says what its value
// may be. What is required stays <+input>, which counts as no value.
func Form(key string, doc *yamldoc.Node) []byte {
	m := merger{template: true}
	_, pruned := m.node(doc, spot{})
	if pruned == nil {
		return nil
	}
	var asked []Runtime // as they stand in the template: places aren't unique in what is made of templates
	for _, r := range m.found {
		if !r.Input.AtStart {
			asked = append(asked, r)
		}
	}
	comments := map[*yamldoc.Node]string{}
	return yamldoc.Format(below(key, prefilled(pruned, &asked, comments)), func(n *yamldoc.Node) string { return comments[n] })
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

// prefilled is a template with its defaults filled in; it notes the comments,
// and takes its inputs from the list in their order.
func prefilled(n *yamldoc.Node, asked *[]Runtime, comments map[*yamldoc.Node]string) *yamldoc.Node {
	c := copyOf(n)
	for i, e := range c.Entries {
		c.Entries[i].Value = prefilled(e.Value, asked, comments)
	}
	for i, item := range c.Items {
		c.Items[i] = prefilled(item, asked, comments)
	}
	if _, ok := runtime(n); !ok || len(*asked) == 0 {
		return c
	}
	r := (*asked)[0]
	*asked = (*asked)[1:]
	if c.Value = "<+input>"; r.HasDefault {
		c.Value = r.Default
	}
	comments[c] = r.Describe()
	return c
}
