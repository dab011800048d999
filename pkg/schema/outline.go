package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Definition is a mapping with its keys, for people. The first of a kind is
// the kind's document.
type Definition struct {
	Name string
	Keys []Key
}

// Key is a key of a mapping.
type Key struct {
	Name     string
	When     string // e.g. "type: Http"; empty if it is so always
	What     string // what its value may be
	Required bool
	Refused  string   // why Slipway refuses it; empty if it doesn't
	Without  []string // why it refuses some of the words
	Idle     string   // why it changes nothing; empty if it does
	Words    []string
	Others   []string // words that Harness has besides
}

// String is the definition as a block of lines.
func (d Definition) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, d.Name)
	for _, k := range d.Keys {
		line := "  " + k.Name
		if k.When != "" {
			line += " (" + k.When + ")"
		}
		line += ": " + k.What
		if k.Required {
			line += ", required"
		}
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// Outline lists the definitions of a kind whose shape was explored.
func Outline(root *Object) []Definition {
	r := newRenderer()
	r.object(root)
	o := outliner{names: r.done, texts: r}
	o.define(root)
	slices.SortStableFunc(o.found[1:], func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	return o.found
}

// outliner walks shapes.
type outliner struct {
	names map[*Object]part // as the schema has them
	texts *renderer
	found []Definition
	done  []string
}

func (o *outliner) name(object *Object) string {
	return strings.TrimPrefix(fmt.Sprint(o.names[object]["$ref"]), "#/definitions/")
}

// define adds a definition and those that it needs.
func (o *outliner) define(object *Object) string {
	name := o.name(object)
	if slices.Contains(o.done, name) {
		return name
	}
	o.done = append(o.done, name)
	at := len(o.found)
	o.found = append(o.found, Definition{Name: name})
	keys := o.keys(object, "", nil)
	for _, c := range object.Cases {
		keys = append(keys, o.keys(c.Object, c.Key+": "+strings.Join(c.Words, ", "), object)...)
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	o.found[at].Keys = keys
	return name
}

// keys lists an object's keys; of a case only what isn't the same in general.
func (o *outliner) keys(object *Object, when string, general *Object) []Key {
	var out []Key
	for _, name := range slices.Sorted(maps.Keys(object.Keys)) {
		s := object.Keys[name]
		k := Key{
			Name: name, When: when, What: o.what(s), Idle: s.Idle, Without: sorted(slices.Collect(maps.Values(s.RefusedIf))), Words: s.Words, Others: s.Others,
			Required: slices.Contains(object.Required, name) || slices.Contains(object.Unless, name),
		}
		if !s.Forbidden {
			k.Refused = s.Refused
		}
		if general != nil {
			if strings.HasPrefix(when, name+": ") {
				continue
			}
			g := general.Keys[name]
			sameRule := k.Required == (slices.Contains(general.Required, name) || slices.Contains(general.Unless, name))
			if g != nil && o.texts.same(g, s) && sameRule {
				continue
			}
		}
		out = append(out, k)
	}
	return out
}

// what says what a value may be.
func (o *outliner) what(s *Shape) string {
	if s.Refused != "" {
		return "refused: " + s.Refused
	}
	var sorts []string
	if s.Object != nil {
		sorts = append(sorts, o.define(s.Object))
	} else if s.Uses[yamldoc.UseStringMap] {
		sorts = append(sorts, "texts by name")
	} else if s.Uses[yamldoc.UseMapping] {
		sorts = append(sorts, "keys of the user's")
	}
	switch {
	case s.Item != nil:
		sorts = append(sorts, "list of "+o.what(s.Item))
	case s.Uses[yamldoc.UseStrings]:
		sorts = append(sorts, "list of texts")
	}
	if text := textual(s); text != "" {
		sorts = append(sorts, text)
	}
	if len(sorts) == 0 {
		return "anything"
	}
	switch {
	case s.Object != nil || s.Item != nil:
	case !s.Expression && s.Input:
		sorts = append(sorts, "no expression but <+input>")
	case !s.Expression:
		sorts = append(sorts, "no expression")
	}
	for _, word := range slices.Sorted(maps.Keys(s.RefusedIf)) {
		sorts = append(sorts, fmt.Sprintf("%s refused: %s", word, s.RefusedIf[word]))
	}
	return strings.Join(sorts, "; ")
}

func textual(s *Shape) string {
	switch {
	case s.Uses[yamldoc.UseEnum]:
		return "one of " + strings.Join(s.Words, ", ")
	case s.Uses[yamldoc.UseBool]:
		return "true or false"
	case s.Uses[yamldoc.UseInt]:
		return "whole number"
	case s.Uses[yamldoc.UseDuration]:
		return "duration"
	case s.Uses[yamldoc.UseBody]:
		return "condition"
	case s.Uses[yamldoc.UseString]:
		return "text"
	}
	return ""
}
