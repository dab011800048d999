package main

import (
	"slices"
	"strings"
)

// theirs reads Harness's schema.
type theirs struct {
	root map[string]any
}

// deref follows a reference to a definition.
func (t *theirs) deref(node map[string]any) map[string]any {
	for range 20 { // a circle of references alone is no schema
		path, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		var at any = t.root
		for _, name := range strings.Split(strings.TrimPrefix(path, "#/"), "/") {
			m, _ := at.(map[string]any)
			at = m[name]
		}
		if node, ok = at.(map[string]any); !ok {
			return nil
		}
	}
	return nil
}

// parts are the schemas that may hold for the same value: alternatives, what
// is joined, and what holds if the mapping's type is the word; "" is any word.
func (t *theirs) parts(node map[string]any, word string) []map[string]any {
	node = t.deref(node)
	if node == nil {
		return nil
	}
	out := []map[string]any{node}
	for _, join := range []string{"allOf", "oneOf", "anyOf"} {
		list, _ := node[join].([]any)
		for _, one := range list {
			m, _ := one.(map[string]any)
			if then, ok := m["then"].(map[string]any); ok {
				if words := condition(m); word == "" || len(words) == 0 || slices.Contains(words, word) {
					out = append(out, t.parts(then, word)...)
				}
				continue
			}
			out = append(out, t.parts(m, word)...)
		}
	}
	return out
}

// condition are the words of "if type is one of them".
func condition(rule map[string]any) []string {
	i, _ := rule["if"].(map[string]any)
	p, _ := i["properties"].(map[string]any)
	k, _ := p["type"].(map[string]any)
	if word, ok := k["const"].(string); ok {
		return []string{word}
	}
	return words(k)
}

func words(node map[string]any) []string {
	var out []string
	list, _ := node["enum"].([]any)
	for _, w := range list {
		if s, ok := w.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// keys are the properties of a mapping, with the schemas of each.
func (t *theirs) keys(node map[string]any, word string) map[string][]map[string]any {
	out := map[string][]map[string]any{}
	for _, p := range t.parts(node, word) {
		properties, _ := p["properties"].(map[string]any)
		for key, value := range properties {
			if m, ok := value.(map[string]any); ok {
				out[key] = append(out[key], m)
			}
		}
	}
	return out
}

// items are the schemas of a list's items.
func (t *theirs) items(node map[string]any) []map[string]any {
	var out []map[string]any
	for _, p := range t.parts(node, "") {
		if m, ok := p["items"].(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// node is the schema below a root key.
func (t *theirs) node(root map[string]any, key string) map[string]any {
	list := t.keys(root, "")[key]
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// step finds the definition of a step with a type.
func (t *theirs) step(name string) map[string]any {
	var found map[string]any
	var walk func(map[string]any)
	walk = func(m map[string]any) {
		properties, _ := m["properties"].(map[string]any)
		typ, _ := properties["type"].(map[string]any)
		_, timed := properties["failureStrategies"]
		if timed && slices.Equal(words(typ), []string{name}) {
			found = m
			return
		}
		for _, v := range m {
			if child, ok := v.(map[string]any); ok && found == nil {
				walk(child)
			}
		}
	}
	walk(t.root)
	return found
}
