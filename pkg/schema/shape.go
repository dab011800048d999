package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Shape is what a value may be.
type Shape struct {
	Uses       map[yamldoc.Use]bool // none: anything, or it isn't read
	Words      []string             // of an enum, those that are honoured
	Others     []string             // the words that Harness has besides
	Refused    string               // why any value is refused; empty if not
	RefusedIf  map[string]string    // why a word is refused, by the word
	Expression bool                 // one may stand for the whole value
	Input      bool                 // a runtime input may
	Object     *Object              // of a mapping with known keys
	Item       *Shape               // of a list
	Filled     bool                 // the list mustn't be empty
	Blank      bool                 // an empty text counts as nothing
	Idle       string               // why it changes nothing; empty if it does
}

// template is the key that stands for others.
const template = "template"

// Object is a mapping with known keys.
type Object struct {
	Name     string // the key that it was found under first
	Keys     map[string]*Shape
	Required []string   // without which it is never good
	Unless   []string   // without which it is only good if it has a template
	OneOf    [][]string // exactly one key of each must be there
	Blank    bool       // it may be blank in spite of Required
	// Cases say what differs by a word of the mapping's; Keys has what is the
	// same in all, and a shape that may be anything of what isn't.
	Cases []Case
}

// Case is what a mapping is if one of its keys has one of some words.
type Case struct {
	Key    string
	Words  []string
	Object *Object
}

// maxDepth bounds what a decoder that is never satisfied makes of this.
const maxDepth = 60

// explorer finds shapes. Objects that are alike are explored once.
type explorer struct {
	shared map[string]*Object // of the parts that stand in many places, by signature
	above  []*seen            // the objects around the one that is explored
}

type seen struct {
	signature string
	object    *Object
}

// Explore finds the shape of a kind's document, below its root key.
func Explore(kind ref.Kind) *Object {
	e := &explorer{shared: map[string]*Object{}}
	root := &spot{kind: kind}
	keys, _ := ask(root.document(unknownMapping())).keys("")
	return e.object(root, string(kind), keys)
}

// shape explores one value that has been looked at.
func (e *explorer) shape(at *spot, name string, s sight) *Shape {
	out := &Shape{Uses: s.uses, Words: s.words, Others: s.others, Refused: s.refused, RefusedIf: s.refusedIf, Expression: s.expression, Input: s.input, Filled: s.filled, Blank: s.blank, Idle: s.idle}
	if out.Refused != "" || at.depth() > maxDepth {
		return out
	}
	if s.object {
		out.Object = e.object(at, name, s.keys)
	}
	switch free := s.uses[yamldoc.UseMapping] && !s.object; {
	case free && s.uses[yamldoc.UseList]: // any value at all
		out.Uses = nil
	case s.uses[yamldoc.UseList]:
		out.Item = e.shape(at.child("", nil), name, look(at, nil, nil)[""])
	}
	return out
}

// object explores a mapping. One that is the same as another around it is
// that one: documents nest without end, shapes don't.
func (e *explorer) object(at *spot, name string, keys []string) *Object {
	typed := with(map[string]string{"type": "x"}, unknownMappings())
	more, _ := ask(at.document(typed)).keys(at.path) // an older form may be known by its type alone
	keys = placed(at, sorted(slices.Concat(keys, more)))
	bare := e.views(at, nil, keys)
	sign := signature(keys, bare)
	if o, ok := e.shared[sign]; ok {
		return o
	}
	for _, s := range e.above {
		if s.signature == sign {
			return s.object
		}
	}
	o := &Object{Name: name, Keys: map[string]*Shape{}}
	if shared := repeated(keys); shared != "" {
		o.Name = shared
		e.shared[sign] = o
	}
	e.above = append(e.above, &seen{sign, o})
	defer func() { e.above = e.above[:len(e.above)-1] }()
	cases := 0
	for _, key := range keys {
		if len(bare[key].words) > 1 {
			cases += e.cases(o, at, key, keys, bare)
		}
	}
	if cases > 0 {
		o.join(keys)
		o.decided(needs(at, nil, keys))
	} else {
		e.fill(o, at, nil, keys, bare)
	}
	o.Blank = at.parent != nil && ask(at.document(mapping(unknownMappings()))).wrong(at.path) && !ask(at.document(mapping(nil))).wrong(at.path)
	return o
}

// repeated names the parts that stand in many places and are the same in all,
// by their keys; empty for others.
func repeated(keys []string) string {
	switch {
	case slices.Contains(keys, "step"):
		return "stepItem"
	case slices.Contains(keys, "stage"):
		return "stageItem"
	case slices.Equal(keys, []string{"onFailure"}):
		return "failureStrategy"
	}
	return ""
}

// placed are those of a mapping's keys that are known there and not only
// elsewhere.
func placed(at *spot, keys []string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		spot := at.child(key, nil)
		return ask(spot.document(scalar("x"))).misplaced(spot.path)
	})
}

// views looks at every key of a mapping. A template stands for the other
// keys, so it is looked at alone.
func (e *explorer) views(at *spot, words map[string]string, keys []string) map[string]sight {
	out := look(at, words, slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == template }))
	if slices.Contains(keys, template) {
		maps.Copy(out, look(at, words, []string{template}))
	}
	return out
}

// signature tells mappings apart by their keys and the words in them.
func signature(keys []string, views map[string]sight) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintln(&b, k, views[k].words, views[k].keys, views[k].types, views[k].refused != "")
	}
	return b.String()
}

// cases explores what differs by the word of a key, and gives the number of
// cases; none if nothing differs.
func (e *explorer) cases(o *Object, at *spot, key string, keys []string, bare map[string]sight) int {
	type variant struct {
		words    []string
		keys     []string
		views    map[string]sight
		required []string
	}
	var variants []variant
	refused := map[string]string{}
	for _, word := range bare[key].words {
		words := map[string]string{key: word}
		alone := ask(at.document(with(words, unknownMappings())))
		if why := alone.unsupported(at.child(key, nil).path); why != "" {
			refused[word] = why
		}
		v := variant{words: []string{word}, keys: keys}
		if own, ok := alone.keys(at.path); ok {
			common := slices.DeleteFunc(slices.Clone(own), func(k string) bool { return !slices.Contains(keys, k) })
			own = slices.DeleteFunc(own, func(k string) bool { return slices.Contains(keys, k) })
			v.keys = sorted(append(common, placed(at, own)...))
		}
		v.views = e.views(at, words, v.keys)
		v.views[key] = bare[key]
		v.required = missing(alone, at)
		i := slices.IndexFunc(variants, func(o variant) bool {
			return slices.Equal(o.keys, v.keys) && slices.Equal(o.required, v.required) && maps.EqualFunc(o.views, v.views, sight.same)
		})
		if i >= 0 {
			variants[i].words = append(variants[i].words, word)
			continue
		}
		variants = append(variants, v)
	}
	maps.Copy(bare[key].refusedIf, refused)
	if one := variants[0]; len(variants) == 1 && slices.Equal(one.keys, keys) && maps.EqualFunc(one.views, bare, sight.same) {
		return 0
	}
	for _, v := range variants {
		c := Case{Key: key, Words: v.words, Object: &Object{Name: o.Name + strings.Join(v.words, ""), Keys: map[string]*Shape{}}}
		e.fill(c.Object, at, map[string]string{key: v.words[0]}, v.keys, v.views)
		o.Cases = append(o.Cases, c)
	}
	return len(variants)
}

func unknownMappings() map[string]*yamldoc.Node {
	return map[string]*yamldoc.Node{bogus: scalar("x")}
}

// missing are the keys of a mapping that were missed.
func missing(a answer, at *spot) []string {
	keys, _ := a.words(at.path, yamldoc.UseMissing)
	return sorted(keys)
}

// fill explores the keys of a mapping that says the words.
func (e *explorer) fill(o *Object, at *spot, words map[string]string, keys []string, views map[string]sight) {
	for _, key := range keys {
		name, inner := key, maps.Clone(words)
		delete(inner, key)
		for _, word := range inner {
			if key == "spec" {
				name = definitionName(word) + "Spec"
			}
		}
		o.Keys[key] = e.shape(at.child(key, inner), name, views[key])
	}
	o.Required, o.Unless = needs(at, words, keys)
	full := ask(at.document(with(words, all(keys, template))))
	for _, u := range full.usages[at.path] {
		if u.Use == yamldoc.UseOneOf && !slices.ContainsFunc(o.OneOf, func(w []string) bool { return slices.Equal(w, u.Words) }) {
			o.OneOf = append(o.OneOf, u.Words)
		}
	}
}

// needs finds the keys that a mapping must have, whatever else it has, and
// those that only a template can stand for.
func needs(at *spot, words map[string]string, keys []string) (required, unless []string) {
	for _, key := range missing(ask(at.document(with(words, unknownMappings()))), at) {
		without := func(others ...string) bool {
			a := ask(at.document(with(words, all(keys, append(others, key)...))))
			return slices.Contains(missing(a, at), key)
		}
		switch {
		case without():
			required = append(required, key)
		case without(template):
			unless = append(unless, key)
		}
	}
	return required, unless
}

// definitionName is a word such as "Bearer Token" as the beginning of a name.
func definitionName(word string) string {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, word)
	return strings.ToLower(letters[:1]) + letters[1:]
}

// all is every key but some, each with some text.
func all(keys []string, but ...string) map[string]*yamldoc.Node {
	out := map[string]*yamldoc.Node{}
	for _, k := range keys {
		if !slices.Contains(but, k) {
			out[k] = scalar("x")
		}
	}
	return out
}

// join makes the part of an object that its cases have in common.
func (o *Object) join(keys []string) {
	first := o.Cases[0].Object
	for _, key := range keys {
		o.Keys[key] = anything()
	}
	found := map[string]*Shape{}
	for _, c := range o.Cases {
		for key, s := range c.Object.Keys {
			switch one, ok := found[key]; {
			case !ok:
				found[key], o.Keys[key] = s, s
			case !s.same(one):
				o.Keys[key] = anything()
			}
		}
	}
	everywhere := func(key string, list func(*Object) []string) bool {
		return !slices.ContainsFunc(o.Cases, func(c Case) bool { return !slices.Contains(list(c.Object), key) })
	}
	for _, key := range first.Required {
		if everywhere(key, func(c *Object) []string { return c.Required }) {
			o.Required = append(o.Required, key)
		}
	}
	for _, key := range first.Unless {
		if everywhere(key, func(c *Object) []string { return c.Unless }) {
			o.Unless = append(o.Unless, key)
		}
	}
	for _, names := range first.OneOf {
		same := func(w []string) bool { return slices.Equal(w, names) }
		if !slices.ContainsFunc(o.Cases, func(c Case) bool { return !slices.ContainsFunc(c.Object.OneOf, same) }) {
			o.OneOf = append(o.OneOf, names)
		}
	}
}

// decided adds those of the keys that are needed on which the cases depend:
// each case has its own, so none misses it.
func (o *Object) decided(required, unless []string) {
	for _, c := range o.Cases {
		if slices.Contains(required, c.Key) && !slices.Contains(o.Required, c.Key) {
			o.Required = append(o.Required, c.Key)
		}
		if slices.Contains(unless, c.Key) && !slices.Contains(o.Unless, c.Key) {
			o.Unless = append(o.Unless, c.Key)
		}
	}
}

// anything is the shape of what a word of the mapping decides.
func anything() *Shape { return &Shape{Expression: true, Input: true} }

// same says whether two shapes are of values that are read alike.
func (s *Shape) same(t *Shape) bool {
	if s == t {
		return true
	}
	r := newRenderer()
	return string(encode(r.shape(s, false))) == string(encode(r.shape(t, false)))
}
