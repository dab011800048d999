package yamldoc

import "go.yaml.in/yaml/v3"

// Put gives a document's text with other texts in the place of some of its scalars.
// doc is what Parse made of the text. Comments stay; blank lines and indentation may
// change. What came in through an alias or a merge key stays.
func Put(text []byte, doc *Node, with func(*Node) (string, bool)) ([]byte, error) {
	return Edit(text, func(y *yaml.Node) error {
		if len(y.Content) == 1 {
			put(y.Content[0], doc, with)
		}
		return nil
	})
}

// put goes through both trees, which have the same shape.
func put(y *yaml.Node, n *Node, with func(*Node) (string, bool)) {
	switch {
	case y.Kind == yaml.MappingNode && n.Kind == Mapping:
		own := 0 // merge keys have no entry in their place
		for i := 0; i+1 < len(y.Content); i += 2 {
			if y.Content[i].ShortTag() == "!!merge" {
				y.Content[i].Tag = "" // which would be written out
				continue
			}
			put(y.Content[i+1], n.Entries[own].Value, with)
			own++
		}
	case y.Kind == yaml.SequenceNode && n.Kind == Sequence:
		for i, item := range y.Content {
			put(item, n.Items[i], with)
		}
	case y.Kind == yaml.ScalarNode && n.Kind == Scalar:
		if other, ok := with(n); ok {
			y.SetString(other)
			y.Style = 0
		}
	}
}
