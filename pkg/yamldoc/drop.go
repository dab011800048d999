package yamldoc

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Drop gives a document's text without some of its values, each with its key.
// doc is what Parse made of the text. Comments stay; blank lines and
// indentation may change. What came in through an alias or a merge key stays.
func Drop(text []byte, doc *Node, gone func(*Node) bool) ([]byte, error) {
	var y yaml.Node
	if err := yaml.Unmarshal(text, &y); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if len(y.Content) == 1 {
		drop(y.Content[0], doc, gone)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&y); err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return b.Bytes(), nil
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
