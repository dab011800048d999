package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// part is a JSON Schema, or a part of one.
type part = map[string]any

// The patterns of texts that are read as something else.
const (
	expression = `<\+`
	input      = `^\s*<\+input>`
	plain      = `^([^<]|<[^+])*$`
	boolean    = `^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|)$`
	integer    = `^\s*[+-]?[0-9]+\s*$`
	duration   = `^\s*([0-9]+(w|d|h|m|s|ms) ?)+\s*$|^$`
)

// Render is the JSON Schema of the kinds whose shapes were explored.
func Render(shapes map[ref.Kind]*Object) ([]byte, error) {
	r := newRenderer()
	kinds := slices.Sorted(maps.Keys(shapes)) // in order, so that names are the same each time
	doc := newDocument(kinds)
	for _, kind := range kinds {
		doc.Properties[string(kind)] = encode(r.object(shapes[kind]))
	}
	for name, definition := range r.definitions {
		doc.Definitions[name] = encode(definition)
	}
	return doc.lines()
}

// renderer writes shapes as JSON Schema. Objects become definitions, each
// once however often it is found.
type renderer struct {
	definitions part
	names       map[*Object]string // of those being written
	recursive   map[string]bool    // of them, those that hold themselves
	written     map[string]string  // the name of a definition by its text
	taken       map[string]bool
	done        map[*Object]part // references to those that are written
	unfinished  bool             // what has a name is still being explored
}

func newRenderer() *renderer {
	return &renderer{
		definitions: part{}, names: map[*Object]string{}, recursive: map[string]bool{},
		written: map[string]string{}, taken: map[string]bool{}, done: map[*Object]part{},
	}
}

// encode gives the same bytes for the same part.
func encode(v any) []byte {
	doc, err := json.Marshal(v)
	if err != nil {
		return []byte(err.Error()) // not of maps, lists and texts
	}
	return doc
}

// name is a new name of a definition.
func (r *renderer) name(want string) string {
	name := want
	for i := 2; r.taken[name]; i++ {
		name = fmt.Sprintf("%s%d", want, i)
	}
	r.taken[name] = true
	return name
}

func refer(name string) part { return part{"$ref": "#/definitions/" + name} }

// object writes an object as a definition and gives a reference to it.
func (r *renderer) object(o *Object) part {
	if known, ok := r.done[o]; ok {
		return known
	}
	if r.unfinished && o.Named {
		return refer(o.Name)
	}
	if name, ok := r.names[o]; ok {
		r.recursive[name] = true
		return refer(name)
	}
	name := r.name(o.Name)
	r.names[o] = name
	body := r.body(o)
	delete(r.names, o)
	text := string(encode(body))
	if known, ok := r.written[text]; ok && !r.recursive[name] {
		delete(r.taken, name)
		name = known
	} else {
		r.definitions[name] = body
		r.written[text] = name
	}
	r.done[o] = refer(name)
	return r.done[o]
}

func (r *renderer) body(o *Object) part {
	properties := part{}
	for _, key := range slices.Sorted(maps.Keys(o.Keys)) { // in order, so that names are the same each time
		properties[key] = r.shape(o.Keys[key], slices.Contains(o.Required, key))
	}
	body := part{"type": "object", "properties": properties, "additionalProperties": false}
	if len(o.Required) > 0 {
		body["required"] = o.Required
	}
	var rules []any
	for _, names := range o.OneOf {
		var one []any
		for _, n := range names {
			one = append(one, part{"required": []string{n}, "properties": part{n: part{"not": part{"enum": []any{"", []any{}}}}}})
		}
		one = append(one, onlyEmpty(names))
		rules = append(rules, part{"oneOf": one})
	}
	if len(o.Unless) > 0 {
		rules = append(rules, part{"anyOf": unlessLinked(o.Unless)})
	}
	for _, c := range o.Cases {
		if then := r.then(o, c); len(then) > 0 {
			rules = append(rules, part{
				"if":   part{"properties": part{c.Key: part{"enum": c.Words}}, "required": []string{c.Key}},
				"then": then,
			})
		}
	}
	if len(rules) > 0 {
		body["allOf"] = rules
	}
	return body
}

// unlessLinked is a mapping that has the keys, or is made of a template.
func unlessLinked(keys []string) []any {
	return []any{part{"required": []string{template}}, part{"required": keys}}
}

// onlyEmpty is a mapping that has some of the keys, each with an empty list.
func onlyEmpty(names []string) part {
	properties, some := part{}, []any{}
	for _, n := range names {
		properties[n] = part{"const": []any{}}
		some = append(some, part{"required": []string{n}})
	}
	return part{"properties": properties, "anyOf": some}
}

// then is what a case has beyond the object.
func (r *renderer) then(o *Object, c Case) part {
	properties := part{}
	for _, key := range slices.Sorted(maps.Keys(c.Object.Keys)) {
		s := c.Object.Keys[key]
		required := slices.Contains(c.Object.Required, key)
		if own := r.shape(s, required); string(encode(own)) != string(encode(r.shape(o.Keys[key], slices.Contains(o.Required, key)))) {
			properties[key] = own
		}
	}
	then := part{}
	if len(properties) > 0 {
		then["properties"] = properties
	}
	own := func(keys, general []string) []string {
		return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(general, k) })
	}
	if more := own(c.Object.Required, o.Required); len(more) > 0 {
		then["required"] = more
	}
	if more := own(c.Object.Unless, o.Unless); len(more) > 0 {
		then["anyOf"] = unlessLinked(more)
	}
	return then
}

// shape writes what a value may be. null is the same as no value.
func (r *renderer) shape(s *Shape, required bool) part {
	if s.Refused != "" {
		return part{"description": s.Refused, "anyOf": []any{r.neutral()}}
	}
	var any []any
	if s.Object != nil {
		any = append(any, r.object(s.Object))
		if s.Object.Blank {
			any = append(any, r.neutral())
		}
		if s.Object.Empty {
			any = append(any, part{"type": "object", "maxProperties": 0})
		}
	} else if s.Uses[yamldoc.UseStringMap] {
		any = append(any, part{"type": "object", "additionalProperties": part{"type": append(texts(), "null")}})
	} else if s.Uses[yamldoc.UseMapping] {
		any = append(any, part{"type": "object"}) // whose keys are the user's
	}
	switch {
	case s.Item != nil:
		list := part{"type": "array", "items": r.shape(s.Item, !s.Uses[yamldoc.UseStrings])}
		if s.Filled {
			list["minItems"] = 1
		}
		any = append(any, list)
	case s.Uses[yamldoc.UseStrings]:
		any = append(any, part{"type": "array", "items": part{"type": append(texts(), "null")}})
	}
	if text := scalarShape(s); text != nil {
		any = append(any, text)
	}
	if len(any) == 0 {
		return part{}
	}
	if pattern := s.pattern(); pattern != "" && (s.Object != nil || s.Item != nil || s.Uses[yamldoc.UseStrings] || s.Uses[yamldoc.UseMapping] || s.Uses[yamldoc.UseStringMap]) {
		any = append(any, part{"type": "string", "pattern": pattern})
	}
	if s.Blank && (s.Object != nil || s.Item != nil) {
		any = append(any, part{"enum": []string{""}})
	}
	if !required {
		any = append(any, part{"type": "null"})
	}
	out := part{"anyOf": any}
	if len(any) == 1 {
		out = any[0].(part) //nolint:forcetypeassert // only parts are put in
	}
	if len(s.RefusedIf) > 0 {
		out = maps.Clone(out)
		out["description"] = describeRefused(s.RefusedIf)
	}
	return out
}

func describeRefused(words map[string]string) string {
	var lines []string
	for _, w := range slices.Sorted(maps.Keys(words)) {
		lines = append(lines, w+": "+words[w])
	}
	return strings.Join(lines, "\n")
}

func texts() []string { return []string{"string", "number", "boolean"} }

// pattern is of the expressions that may stand for a value; empty for none.
func (s *Shape) pattern() string {
	switch {
	case s.Expression:
		return expression
	case s.Input:
		return input
	}
	return ""
}

// can are the words that aren't refused.
func (s *Shape) can() []string {
	return slices.DeleteFunc(slices.Clone(s.Words), func(w string) bool { return s.RefusedIf[w] != "" })
}

// or is a pattern, or an expression that may stand for the value.
func (s *Shape) or(pattern string) string {
	if other := s.pattern(); other != "" {
		return pattern + "|" + other
	}
	return pattern
}

// scalarShape is what a scalar may be; nil if the value isn't one.
func scalarShape(s *Shape) part {
	has := func(u yamldoc.Use) bool { return s.Uses[u] }
	switch {
	case has(yamldoc.UseEnum) && has(yamldoc.UseAnyCase):
		return part{"anyOf": []any{part{"enum": s.can()}, part{"type": "string", "pattern": s.or(anyCase(s.can()))}}}
	case has(yamldoc.UseEnum) && s.pattern() != "":
		return part{"anyOf": []any{part{"enum": s.can()}, part{"type": "string", "pattern": s.pattern()}}}
	case has(yamldoc.UseEnum):
		return part{"enum": s.can()}
	case has(yamldoc.UseBool) && s.RefusedIf["true"] != "":
		return part{"anyOf": []any{part{"enum": []any{false, "false", "False", ""}}, part{"type": "string", "pattern": expression}}}
	case has(yamldoc.UseBool):
		return part{"type": []string{"boolean", "string"}, "pattern": s.or(boolean)}
	case has(yamldoc.UseInt):
		return part{"type": []string{"integer", "string"}, "pattern": s.or(integer)}
	case has(yamldoc.UseDuration):
		return part{"type": "string", "pattern": s.or(duration)}
	case has(yamldoc.UseBody), has(yamldoc.UseString) && s.Expression:
		return part{"type": texts()}
	case has(yamldoc.UseString) && s.Input:
		return part{"type": texts(), "pattern": plain + "|" + input}
	case has(yamldoc.UseString):
		return part{"type": texts(), "pattern": plain}
	}
	return nil
}

// anyCase matches words in any case. JSON Schema has no flag for that.
func anyCase(words []string) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteByte('^')
		for _, letter := range word {
			fmt.Fprintf(&b, "[%c%c]", unicode.ToUpper(letter), unicode.ToLower(letter))
		}
		b.WriteByte('$')
	}
	return b.String()
}

// neutral is what a key that is refused may still be: nothing.
func (r *renderer) neutral() part {
	const name = "nothing"
	r.taken[name] = true
	r.definitions[name] = part{"anyOf": []any{
		part{"enum": []any{nil, "", false, "false", "False", []any{}}},
		part{"type": "object", "additionalProperties": refer(name)},
	}}
	return refer(name)
}
