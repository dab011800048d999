package yamldoc

import "go.yaml.in/yaml/v3"

// Drop gives a document's text without some of its values, each with its key.
// doc is what Parse made of the text. Comments stay; blank lines and
// indentation may change. What came in through an alias or a merge key stays.
func Drop(text []byte, doc *Node, gone func(*Node) bool) ([]byte, error) {
	return Edit(text, func(y *yaml.Node) error {
		if len(y.Content) == 1 {
			drop(y.Content[0], doc, gone)
		}
		return nil
	})
}

// drop goes through both trees, which have the same shape.
func drop(y *yaml.Node, n *Node, gone func(*Node) bool) {
	kept := y.Content[:0:0]
	switch {
	case y.Kind == yaml.MappingNode && n.Kind == Mapping:
		own := 0 // merge keys have no entry in their place
		for i := 0; i+1 < len(y.Content); i += 2 {
			key, value := y.Content[i], y.Content[i+1]
			if key.ShortTag() == "!!merge" {
				key.Tag = "" // which would be written out
			} else {
				e := n.Entries[own]
				if own++; gone(e.Value) {
					continue
				}
				drop(value, e.Value, gone)
			}
			kept = append(kept, key, value)
		}
	case y.Kind == yaml.SequenceNode && n.Kind == Sequence:
		for i, item := range y.Content {
			if !gone(n.Items[i]) {
				drop(item, n.Items[i], gone)
				kept = append(kept, item)
			}
		}
	default:
		return
	}
	y.Content = kept
}
