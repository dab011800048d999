package legacy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// get is the value of a mapping's key; nil if there is none.
func get(n *yaml.Node, key string) *yaml.Node {
	if i := index(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

func index(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// take is get, and takes the key out.
func take(n *yaml.Node, key string) *yaml.Node {
	i := index(n, key)
	if i < 0 {
		return nil
	}
	value := n.Content[i+1]
	n.Content = slices.Delete(n.Content, i, i+2)
	return value
}

// replace puts another key and value in the place of a key; comments above it stay.
func replace(n *yaml.Node, old, key string, value *yaml.Node) {
	if i := index(n, old); i >= 0 {
		n.Content[i].Value, n.Content[i+1] = key, value
	}
}

func add(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, word(key), value)
}

func word(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// mapping is a mapping of keys, which are texts, and nodes in turn.
func mapping(entries ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(entries); i += 2 {
		key, _ := entries[i].(string)
		value, _ := entries[i+1].(*yaml.Node)
		add(n, key, value)
	}
	return n
}

func textOf(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// neutral says whether a value says nothing.
func neutral(n *yaml.Node) bool {
	switch {
	case n == nil:
		return true
	case n.Kind == yaml.ScalarNode:
		return n.Value == "" || n.Value == "null" || n.Value == "~" || n.Value == "false"
	}
	if n.Kind == yaml.MappingNode {
		return !slices.ContainsFunc(values(n), func(v *yaml.Node) bool { return !neutral(v) })
	}
	return len(n.Content) == 0
}

func values(n *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for i := 1; i < len(n.Content); i += 2 {
		out = append(out, n.Content[i])
	}
	return out
}

// inputs is the part of a value that has runtime inputs, with the keys that say
// of what; nil if it has none. The stage asks for them where it names the
// document that has them.
func inputs(n *yaml.Node) *yaml.Node {
	switch n.Kind {
	case yaml.ScalarNode:
		if strings.HasPrefix(strings.TrimSpace(n.Value), "<+input>") {
			return word(n.Value)
		}
	case yaml.SequenceNode:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Content {
			if kept := inputs(item); kept != nil {
				out.Content = append(out.Content, kept)
			}
		}
		if len(out.Content) > 0 {
			return out
		}
	case yaml.MappingNode:
		return inputsOf(n)
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return nil
}

func inputsOf(n *yaml.Node) *yaml.Node {
	out := mapping()
	asked := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		kept := inputs(value)
		asked = asked || kept != nil
		if kept == nil && value.Kind == yaml.ScalarNode && slices.Contains([]string{"identifier", "name", "type"}, key) {
			kept = word(value.Value)
		}
		if kept != nil {
			add(out, key, kept)
		}
	}
	if !asked {
		return nil
	}
	return out
}
