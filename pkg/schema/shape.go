package schema

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Shape is what a value may be.
type Shape struct {
	Uses       map[yamldoc.Use]bool // none: anything, or it isn't read
	Words      []string             // of an enum, those that are honoured
	Others     []string             // the words that Harness has besides
	Refused    string               // why any value is refused; empty if not
	Forbidden  bool                 // it is refused here for another word of the mapping
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
	Named    bool   // it is called so wherever it stands
	Keys     map[string]*Shape
	Required []string   // without which it is never good
	Unless   []string   // without which it is only good if it has a template
	OneOf    [][]string // exactly one key of each must be there
	Blank    bool       // it may be blank in spite of Required
	Empty    bool       // it may be empty in spite of Required
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

// maxDepth bounds what a decoder makes of this that calls a mapping in itself
// by no name, see document.Decoder.Named.
const maxDepth = 30

// explorer finds shapes. Mappings that have a name are explored once.
type explorer struct {
	*describer
	named   map[string]*Object
	depth   int
	endless string    // a mapping that stands in itself and has no name
	texts   *renderer // by which shapes are compared
	closed  bool      // nothing may be a runtime input here
}

// Explore finds the shape of a kind's document, below its root key, as it is
// decoded with some options, which list the step types too.
func Explore(kind ref.Kind, options entity.Options) (*Object, error) {
	e := &explorer{describer: newDescriber(options), named: map[string]*Object{}, texts: newRenderer()}
	e.texts.unfinished = true
	if ref.OfGitOps(kind) {
		e.report.Resolved() // what is heard of a rule later has no expressions either
	}
	root := e.object(string(kind), e.root(kind))
	if e.endless != "" {
		return nil, fault.New(fault.Internal, "the mapping %q of %s stands in itself; give it a name by document.Decoder.Named", e.endless, kind)
	}
	return root, nil
}

// sight is what one value is seen to be, without what is inside.
type sight struct {
	Shape
	rule  document.Rule
	known bool   // it is a mapping with known keys
	item  *sight // of a list
}

// look has a rule take a value of each sort.
func (e *explorer) look(key string, rule document.Rule) sight {
	text, object := e.hear(key, rule, scalar("x")), e.hear(key, rule, saying(untyped()))
	list := e.hear(key, rule, sequence(saying(untyped())))
	s := sight{rule: rule, Shape: Shape{Uses: map[yamldoc.Use]bool{}, RefusedIf: text.refuse}}
	has := func(use yamldoc.Use) bool { return text.has(use) || object.has(use) || list.has(use) }
	for use := range yamldoc.UseInput {
		if use != yamldoc.UseRefused && has(use) {
			s.Uses[use] = true
		}
	}
	s.Words, s.Others = text.uses[yamldoc.UseEnum], text.uses[yamldoc.UseRefused]
	s.Refused, s.Idle = first(text.uses[yamldoc.UseNever]), first(text.uses[yamldoc.UseIdle])
	if text.has(yamldoc.UseForbidden) {
		s.Refused, s.Forbidden = first(text.uses[yamldoc.UseForbidden]), true
	}
	reads := len(text.uses) == 0 || slices.ContainsFunc([]yamldoc.Use{
		yamldoc.UseString, yamldoc.UseBool, yamldoc.UseInt, yamldoc.UseDuration, yamldoc.UseBody, yamldoc.UseStrings, yamldoc.UseStringMap,
	}, text.has)
	s.Input = !e.closed && !text.has(yamldoc.UsePlain) && (reads || text.has(yamldoc.UseInput))
	s.Expression = reads && !text.has(yamldoc.UsePlain) && !text.has(yamldoc.UseInput)
	if s.Refused != "" {
		s.Input, s.Expression = false, false
	}
	s.Filled, s.Blank = list.has(yamldoc.UseFilled) && !list.has(yamldoc.UseBlank), has(yamldoc.UseBlank)
	s.known = object.has(yamldoc.UseKeys)
	switch free := s.Uses[yamldoc.UseMapping] && !s.known; {
	case free && s.Uses[yamldoc.UseList]: // any value at all
		s.Uses = nil
	case s.Uses[yamldoc.UseList]:
		one := e.look(key, item(key, rule))
		s.item = &one
	}
	return s
}

// untyped is a type that nobody knows.
func untyped() map[string]string { return map[string]string{"type": "x"} }

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// shape explores one value that has been looked at.
func (e *explorer) shape(name string, s sight) *Shape {
	out := &s.Shape
	if out.Refused != "" || e.endless != "" {
		return out
	}
	if s.known {
		out.Object = e.object(name, s.rule)
	}
	if s.item != nil {
		out.Item = e.shape(name, *s.item)
	}
	return out
}

// here are those of a mapping's keys that don't belong elsewhere.
func (e *explorer) here(keys document.Keys) document.Keys {
	out := document.Keys{}
	for key, rule := range keys {
		if !e.hear(key, rule, scalar("x")).has(yamldoc.UseElsewhere) {
			out[key] = rule
		}
	}
	return out
}

// object explores a mapping.
func (e *explorer) object(name string, rule document.Rule) *Object {
	bare := e.hear(name, rule, saying(untyped()))
	o := &Object{Name: name, Keys: map[string]*Shape{}, Blank: bare.has(yamldoc.UseBlank), Empty: bare.has(yamldoc.UseEmpty)}
	if named := first(bare.uses[yamldoc.UseNamed]); named != "" {
		if known, ok := e.named[named]; ok {
			return known
		}
		o.Name, o.Named, e.named[named] = named, true, o
	}
	if e.depth == maxDepth {
		e.endless = name
		return o
	}
	e.depth++
	above := e.open
	e.open = e.open || bare.has(yamldoc.UseOpened)
	defer func() { e.depth, e.open = e.depth-1, above }()
	views := e.views(e.here(bare.keys))
	general := &Object{Keys: map[string]*Shape{}}
	e.fill(general, rule, nil, views)
	keys := slices.Sorted(maps.Keys(views))
	for _, key := range keys {
		if len(views[key].Words) > 0 {
			o.Cases = append(o.Cases, e.cases(general, rule, key, views[key])...)
		}
	}
	if len(o.Cases) > 0 {
		o.join(keys, e.texts)
		o.decided(general.Required, general.Unless)
	} else {
		o.Keys, o.Required, o.Unless, o.OneOf = general.Keys, general.Required, general.Unless, general.OneOf
	}
	return o
}

// views looks at every key of a mapping.
func (e *explorer) views(rules document.Keys) map[string]sight {
	out := map[string]sight{}
	for key, rule := range rules {
		out[key] = e.look(key, rule)
	}
	return out
}

// cases explores what differs by the word of a key; none if nothing does.
func (e *explorer) cases(general *Object, rule document.Rule, key string, by sight) []Case {
	above := e.closed
	defer func() { e.closed = above }()
	var out []Case
	var texts []string
	for _, word := range by.Words {
		alone := e.hear("", rule, saying(map[string]string{key: word}))
		e.closed = above || alone.has(yamldoc.UseClosed)
		views := e.views(e.here(alone.keys))
		views[key] = by
		one := &Object{Keys: map[string]*Shape{}}
		e.fill(one, rule, map[string]string{key: word}, views)
		text := string(encode(e.texts.body(one)))
		if i := slices.Index(texts, text); i >= 0 {
			out[i].Words = append(out[i].Words, word)
			continue
		}
		texts, out = append(texts, text), append(out, Case{Key: key, Words: []string{word}, Object: one})
	}
	if len(out) == 1 && texts[0] == string(encode(e.texts.body(general))) {
		return nil
	}
	return out
}

// fill explores the keys of a mapping that says the words.
func (e *explorer) fill(o *Object, rule document.Rule, words map[string]string, views map[string]sight) {
	keys := slices.Sorted(maps.Keys(views))
	for _, key := range keys {
		name := key
		for by, word := range words {
			if key == "spec" && by != key {
				name = definitionName(word) + "Spec"
			}
		}
		o.Keys[key] = e.shape(name, views[key])
	}
	o.Required, o.Unless = e.needs(rule, words, keys)
	o.OneOf = e.hear("", rule, full(words, keys)).oneOf
}

// needs finds the keys that a mapping must have, whatever else it has, and
// those that only a template can stand for.
func (e *explorer) needs(rule document.Rule, words map[string]string, keys []string) (required, unless []string) {
	always := e.hear("", rule, full(words, keys)).uses[yamldoc.UseNeeded]
	unlinked := e.hear("", rule, full(words, keys, template)).uses[yamldoc.UseNeeded]
	for _, key := range sorted(e.hear("", rule, saying(words)).uses[yamldoc.UseNeeded]) {
		switch {
		case slices.Contains(always, key):
			required = append(required, key)
		case slices.Contains(unlinked, key):
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

// join makes the part of an object that its cases have in common.
func (o *Object) join(keys []string, r *renderer) {
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
			case !r.same(s, one):
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
func (r *renderer) same(s, t *Shape) bool {
	return s == t || string(encode(r.shape(s, false))) == string(encode(r.shape(t, false)))
}

// sorted sorts words, each once.
func sorted(words []string) []string {
	out := slices.Clone(words)
	slices.Sort(out)
	return slices.Compact(out)
}
