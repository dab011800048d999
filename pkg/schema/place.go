package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// unknownKey is the code of the findings that Place changes.
const unknownKey = "UNKNOWN_KEY"

// How far from where it stands a key is looked for, and for how many keys of a
// document: whoever has more misread the schema as a whole.
const (
	levelsUp   = 2
	levelsDown = 3
	maxPlaced  = 20
)

// Place makes the findings about unknown keys of a document say where the key
// belongs, if it is one of a mapping nearby: above the one that it stands in,
// or below.
func Place(kind ref.Kind, doc *yamldoc.Node, r *yamldoc.Report) {
	body, looked := doc.Get(string(kind)), 0
	r.Amend(func(f yamldoc.Finding) (yamldoc.Finding, bool) {
		if f.Code != unknownKey || f.File != r.File() || looked == maxPlaced {
			return f, true
		}
		looked++
		if at := stepsOf(f.Path); len(at) > 0 {
			if where := belongs(kind, body, at, f.Pos); where != "" {
				f.Message = fmt.Sprintf("unknown key %q; it belongs %s", at[len(at)-1], where)
			}
		}
		return f, true
	})
}

// level is a mapping of a document with what its schema says.
type level struct {
	key  string // in which it stands
	node *yamldoc.Node
	keys map[string][]shapeOf
}

// shapeOf is the JSON Schema of a value.
type shapeOf map[string]any

// definitions is the schema, read once: only documents with unknown keys need it.
var definitions = sync.OnceValue(func() map[string]map[string]shapeOf {
	var doc map[string]json.RawMessage
	out := map[string]map[string]shapeOf{"properties": {}, "definitions": {}}
	if json.Unmarshal(embedded, &doc) != nil {
		return out // a test reads it
	}
	for part := range out {
		var shapes map[string]shapeOf
		if json.Unmarshal(doc[part], &shapes) == nil {
			out[part] = shapes
		}
	}
	return out
})

// general are keys that stand in so many mappings that nobody could tell which
// is meant.
func general(key string) bool {
	return slices.Contains([]string{"identifier", "name", "description", "type", "spec", "value", "metadata", "tags", "template"}, key)
}

// belongs says where the key at the end of a path belongs; empty if nobody
// knows. The path leads to the place, or the finding is about another part.
func belongs(kind ref.Kind, body *yamldoc.Node, path []string, at yamldoc.Pos) string {
	key := path[len(path)-1]
	levels := walk(definitions()["properties"][string(kind)], body, path[:len(path)-1])
	if len(levels) == 0 || general(key) || !stands(levels[len(levels)-1].node, key, at) {
		return ""
	}
	here := levels[len(levels)-1]
	if where := below(here, key); where != "" {
		return "in " + where
	}
	for up := 1; up <= min(levelsUp, len(levels)-1); up++ {
		above := levels[len(levels)-1-up]
		if takes(above.keys[key]) && above.node.Get(key) == nil {
			return fmt.Sprintf("beside %q, %s up", levels[len(levels)-up].key, []string{"", "one level", "two levels"}[up])
		}
	}
	return ""
}

// stands says whether a mapping has a key at a place.
func stands(n *yamldoc.Node, key string, at yamldoc.Pos) bool {
	return n != nil && slices.ContainsFunc(n.Entries, func(e yamldoc.Entry) bool { return e.Key == key && e.Line == at.Line && e.Column == at.Column })
}

// stepsOf are the keys and, as [0], the places of a path.
func stepsOf(path string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(path, "[", ".["), func(c rune) bool { return c == '.' })
}

// walk gives the mappings on the way down a path, the document's first.
func walk(root shapeOf, n *yamldoc.Node, path []string) []level {
	levels := []level{{node: n, keys: keysOf([]shapeOf{root}, n)}}
	for _, part := range path {
		last := levels[len(levels)-1]
		var i int
		if _, err := fmt.Sscanf(part, "[%d]", &i); err == nil {
			if last.node == nil || i >= len(last.node.Items) {
				return nil
			}
			// A list is no level of its own: its item stands in its place.
			item := last.node.Items[i]
			levels[len(levels)-1] = level{key: last.key, node: item, keys: keysOf(last.keys["[]"], item)}
			continue
		}
		levels = append(levels, level{key: part, node: last.node.Get(part), keys: keysOf(last.keys[part], last.node.Get(part))})
	}
	return levels
}

// keysOf are the shapes of the keys of a mapping, and as [] those of a list's
// items. What depends on a word is that of the word that the mapping says, or
// of all words if it says none.
func keysOf(shapes []shapeOf, n *yamldoc.Node) map[string][]shapeOf {
	out := map[string][]shapeOf{}
	for _, s := range flat(shapes) {
		if items, ok := s["items"].(map[string]any); ok {
			out["[]"] = append(out["[]"], items)
		}
		add(out, s)
		for _, one := range parts(s["allOf"]) {
			then, ok := one["then"].(map[string]any)
			if ok && holds(one["if"], n) {
				add(out, then)
			}
		}
	}
	return out
}

func add(out map[string][]shapeOf, s shapeOf) {
	properties, _ := s["properties"].(map[string]any)
	for key, value := range properties {
		if shape, ok := value.(map[string]any); ok {
			out[key] = append(out[key], shape)
		}
	}
}

// flat follows references and takes alternatives apart.
func flat(shapes []shapeOf) []shapeOf {
	var out []shapeOf
	for _, s := range shapes {
		if name, ok := s["$ref"].(string); ok {
			out = append(out, flat([]shapeOf{definitions()["definitions"][strings.TrimPrefix(name, "#/definitions/")]})...)
			continue
		}
		out = append(out, s)
		if s["properties"] == nil { // of an object the alternatives are rules about its keys
			out = append(out, flat(parts(s["anyOf"]))...)
		}
	}
	return out
}

func parts(list any) []shapeOf {
	var out []shapeOf
	items, _ := list.([]any)
	for _, item := range items {
		if shape, ok := item.(map[string]any); ok {
			out = append(out, shape)
		}
	}
	return out
}

// holds says whether a condition about a mapping's words holds.
func holds(condition any, n *yamldoc.Node) bool {
	shape, _ := condition.(map[string]any)
	properties, _ := shape["properties"].(map[string]any)
	for key, value := range properties {
		said := n.Get(key)
		rule, _ := value.(map[string]any)
		words, _ := rule["enum"].([]any)
		if said != nil && !slices.Contains(words, any(said.Value)) {
			return false
		}
	}
	return true
}

// takes says whether a key is one of a mapping's, and not one that is refused
// whatever else the mapping says.
func takes(shapes []shapeOf) bool {
	if !slices.ContainsFunc(shapes, refuses) {
		return len(shapes) > 0
	}
	return slices.ContainsFunc(shapes, func(s shapeOf) bool { return len(s) > 0 && !refuses(s) })
}

// refuses says whether a value may be nothing alone, as shape writes it.
func refuses(s shapeOf) bool {
	alternatives := parts(s["anyOf"])
	return len(alternatives) == 1 && alternatives[0]["$ref"] == "#/definitions/nothing"
}

// below finds the one place of a key in the mappings below one, the nearest.
func below(from level, key string) string {
	now := map[string]level{"": from}
	for range levelsDown {
		next := map[string]level{}
		var found []string
		for _, path := range slices.Sorted(maps.Keys(now)) {
			for _, name := range slices.Sorted(maps.Keys(now[path].keys)) {
				if name == "[]" {
					continue // there may be many items
				}
				inner := level{key: name, node: now[path].node.Get(name)}
				inner.keys = keysOf(now[path].keys[name], inner.node)
				place := path + name + "."
				next[place] = inner
				if takes(inner.keys[key]) && inner.node.Get(key) == nil {
					found = append(found, place+key)
				}
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		if len(found) > 1 {
			return "" // nobody can tell which
		}
		now = next
	}
	return ""
}
