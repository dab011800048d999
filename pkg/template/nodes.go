package template

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// cloned is a node whose entries or items may be replaced.
func cloned(n *yamldoc.Node) *yamldoc.Node {
	c := *n
	c.Entries, c.Items = slices.Clone(n.Entries), slices.Clone(n.Items)
	return &c
}

// with is a mapping with another value for a key that it has.
func with(n *yamldoc.Node, key string, value *yamldoc.Node) *yamldoc.Node {
	if n.Get(key) == value {
		return n
	}
	c := cloned(n)
	for i := range c.Entries {
		if c.Entries[i].Key == key {
			c.Entries[i].Value = value
		}
	}
	return c
}

// trim is a mapping without a key.
func trim(n *yamldoc.Node, key string) *yamldoc.Node {
	if n.Get(key) == nil {
		return n
	}
	c := cloned(n)
	c.Entries = slices.DeleteFunc(c.Entries, func(e yamldoc.Entry) bool { return e.Key == key })
	return c
}

// size counts the nodes of a tree.
func size(n *yamldoc.Node) int {
	if n == nil {
		return 0
	}
	total := 1
	for _, e := range n.Entries {
		total += size(e.Value)
	}
	for _, item := range n.Items {
		total += size(item)
	}
	return total
}
