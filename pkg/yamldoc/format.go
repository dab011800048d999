package yamldoc

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Format writes a tree as YAML in blocks, indented by two. What comment says
// of a node stands behind it; comment may be nil. Reading it gives the same
// tree again, but for places.
func Format(n *Node, comment func(*Node) string) []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(encodable(n, comment)); err != nil {
		return nil // a buffer takes everything, and the tree has no cycle
	}
	return b.Bytes()
}

func encodable(n *Node, comment func(*Node) string) *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	if n == nil {
		return y
	}
	if comment != nil {
		y.LineComment = strings.Join(strings.Fields(comment(n)), " ")
	}
	switch n.Kind {
	case Mapping:
		y.Kind, y.Tag, y.Value = yaml.MappingNode, "!!map", ""
		for _, e := range n.Entries {
			y.Content = append(y.Content, encodable(&Node{Kind: Scalar, Value: e.Key}, nil), encodable(e.Value, comment))
		}
	case Sequence:
		y.Kind, y.Tag, y.Value = yaml.SequenceNode, "!!seq", ""
		for _, item := range n.Items {
			y.Content = append(y.Content, encodable(item, comment))
		}
	case Scalar:
		y.Tag, y.Value = tagName(n.Tag), n.Value
		if strings.Contains(n.Value, "\n") && n.Tag == Str {
			y.Style = yaml.LiteralStyle
		}
	case Null:
	}
	return y
}

func tagName(t Tag) string {
	return [...]string{Str: "!!str", Int: "!!int", Float: "!!float", Bool: "!!bool"}[t]
}
