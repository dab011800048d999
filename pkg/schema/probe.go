package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step/builtin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// bogus is a key that no document has.
const bogus = "~"

// spot is a place in a document of a kind: below a key of a mapping, or, if
// the key is empty, an item of a list. The root has no parent.
type spot struct {
	kind   ref.Kind
	parent *spot
	key    string
	words  map[string]string // what else the mapping says, such as its type
	path   string            // as findings name it
}

func (s *spot) child(key string, words map[string]string) *spot {
	out := &spot{kind: s.kind, parent: s, key: key, words: words, path: key}
	switch {
	case key == "":
		out.path = s.path + "[0]"
	case s.path != "":
		out.path = s.path + "." + key
	}
	return out
}

func (s *spot) depth() int {
	if s.parent == nil {
		return 0
	}
	return s.parent.depth() + 1
}

// document is the smallest document that has a node at the spot.
func (s *spot) document(n *yamldoc.Node) *yamldoc.Node {
	switch {
	case s.parent == nil:
		return mapping(map[string]*yamldoc.Node{string(s.kind): n})
	case s.key == "":
		return s.parent.document(&yamldoc.Node{Kind: yamldoc.Sequence, Items: []*yamldoc.Node{n}})
	}
	return s.parent.document(with(s.words, map[string]*yamldoc.Node{s.key: n}))
}

// with is a mapping of words and other nodes.
func with(words map[string]string, nodes map[string]*yamldoc.Node) *yamldoc.Node {
	all := maps.Clone(nodes)
	for key, word := range words {
		if _, ok := all[key]; !ok {
			all[key] = scalar(word)
		}
	}
	return mapping(all)
}

func mapping(nodes map[string]*yamldoc.Node) *yamldoc.Node {
	n := &yamldoc.Node{Kind: yamldoc.Mapping}
	for _, key := range slices.Sorted(maps.Keys(nodes)) {
		n.Entries = append(n.Entries, yamldoc.Entry{Key: key, Value: nodes[key]})
	}
	return n
}

func scalar(text string) *yamldoc.Node { return &yamldoc.Node{Kind: yamldoc.Scalar, Value: text} }

// unknownMapping has a key that nobody knows, and a type that nobody knows.
func unknownMapping() *yamldoc.Node {
	return mapping(map[string]*yamldoc.Node{bogus: scalar("x"), "type": scalar("x")})
}

// answer is what the decoder did with a document, by path.
type answer struct {
	usages   map[string][]yamldoc.Usage
	findings map[string][]yamldoc.Finding
}

// ask decodes a document.
func ask(doc *yamldoc.Node) answer {
	a := answer{usages: map[string][]yamldoc.Usage{}, findings: map[string][]yamldoc.Finding{}}
	report := yamldoc.NewReport("").Watch(func(u yamldoc.Usage) { a.usages[u.Path] = append(a.usages[u.Path], u) })
	entity.Decode(doc, report, entity.Options{
		Scope: ref.Scope{Account: "a", Org: "o", Project: "p"}, CheckStep: builtin.Check, StepTypes: builtin.Names(),
	})
	for _, f := range report.Findings() {
		a.findings[f.Path] = append(a.findings[f.Path], f)
	}
	return a
}

// words of a use of the value at a path; false if there is no such use.
func (a answer) words(path string, use yamldoc.Use) ([]string, bool) {
	var all []string
	found := false
	for _, u := range a.usages[path] {
		if u.Use == use {
			found = true
			all = append(all, u.Words...)
		}
	}
	return all, found
}

// keys are those that a mapping may have, learned from what the decoder says
// about the bogus one.
func (a answer) keys(path string) ([]string, bool) {
	more, _ := a.words(path, yamldoc.UseKeys)
	if path != "" {
		path += "."
	}
	keys, ok := a.words(path+bogus, yamldoc.UseUnknown)
	return sorted(slices.Concat(keys, more)), ok
}

// misplaced says whether a key is known, but not here.
func (a answer) misplaced(path string) bool {
	return slices.ContainsFunc(a.findings[path], func(f yamldoc.Finding) bool {
		return f.Code == "MISPLACED_KEY" && f.Severity == yamldoc.Error
	})
}

// sorted sorts words, each once.
func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// unsupported is why a value is refused; empty if it isn't.
func (a answer) unsupported(path string) string {
	for _, f := range a.findings[path] {
		if f.Code == "UNSUPPORTED" {
			return f.Message
		}
	}
	return ""
}

// wrong says whether there is an error at a value.
func (a answer) wrong(path string) bool {
	return slices.ContainsFunc(a.findings[path], func(f yamldoc.Finding) bool { return f.Severity == yamldoc.Error })
}

// sight is what one value is seen to be.
type sight struct {
	uses       map[yamldoc.Use]bool
	words      []string // of an enum
	others     []string // words that Harness has besides
	object     bool
	keys       []string // of an object
	types      []string // the words of an object's type, and of the types of what is in it
	refused    string   // whatever the value
	refusedIf  map[string]string
	expression bool // one may stand for it
	input      bool // a runtime input may
	filled     bool // a list that mustn't be empty
	blank      bool // an empty text counts as nothing
	idle       string
}

// look tries values of every sort at once on each of the spots, which are the
// keys of one mapping or the one item of a list.
func look(parent *spot, words map[string]string, keys []string) map[string]sight {
	try := func(n *yamldoc.Node) answer {
		if keys == nil {
			return ask(parent.child("", nil).document(n))
		}
		all := map[string]*yamldoc.Node{}
		for _, k := range keys {
			if _, fixed := words[k]; !fixed {
				all[k] = n
			}
		}
		return ask(parent.document(with(words, all)))
	}
	text, object := try(scalar("x")), try(unknownMapping())
	list := try(&yamldoc.Node{Kind: yamldoc.Sequence, Items: []*yamldoc.Node{unknownMapping()}})
	input, expression, empty := try(scalar("<+input>")), try(scalar("<+a.b>")), try(&yamldoc.Node{Kind: yamldoc.Sequence})
	blank := try(scalar(""))
	zero, off := try(scalar("0")), try(mapping(map[string]*yamldoc.Node{"enabled": scalar("false"), bogus: scalar("x")}))
	flags := map[string]answer{"true": try(scalar("true")), "false": try(scalar("false"))}
	names := keys
	if names == nil {
		names = []string{""}
	}
	deep := lookInside(parent, words, names, object)
	out := map[string]sight{}
	for _, name := range names {
		path := parent.child(name, nil).path
		s := sight{uses: map[yamldoc.Use]bool{}, refusedIf: map[string]string{}, expression: !expression.wrong(path), input: !input.wrong(path)}
		for _, a := range []answer{text, object, list} {
			for _, u := range a.usages[path] {
				if u.Use != yamldoc.UseIdle {
					s.uses[u.Use] = true
				}
			}
		}
		if s.uses[yamldoc.UseString] && len(s.uses) == 1 && text.wrong(path) {
			s.expression = true // it isn't the expression that is wrong
		}
		s.words, _ = text.words(path, yamldoc.UseEnum)
		s.others, _ = text.words(path, yamldoc.UseRefused)
		if why, ok := text.words(path, yamldoc.UseIdle); ok {
			s.idle = why[0]
		}
		s.keys, s.object = object.keys(path)
		s.types, _ = object.words(parent.child(name, nil).child("type", nil).path, yamldoc.UseEnum)
		for _, key := range s.keys {
			inner, _ := deep.words(parent.child(name, nil).child(key, nil).child("type", nil).path, yamldoc.UseEnum)
			others, _ := deep.words(parent.child(name, nil).child(key, nil).child("type", nil).path, yamldoc.UseRefused)
			s.types = append(s.types, slices.Concat(inner, others)...)
		}
		s.filled = s.uses[yamldoc.UseList] && empty.wrong(path)
		s.blank = !blank.wrong(path) && text.wrong(path)
		if !slices.ContainsFunc([]answer{text, object, list, zero, off}, func(a answer) bool { return a.unsupported(path) == "" }) {
			s.refused = text.unsupported(path)
		}
		if s.uses[yamldoc.UseBool] && s.refused == "" {
			for word, a := range flags {
				if why := a.unsupported(path); why != "" {
					s.refusedIf[word] = why
				}
			}
		}
		out[name] = s
	}
	return out
}

// lookInside fills the known keys of each object on some spots with mappings
// that have a type which nobody knows.
func lookInside(parent *spot, words map[string]string, names []string, object answer) answer {
	all := map[string]*yamldoc.Node{}
	for _, name := range names {
		if _, fixed := words[name]; fixed {
			continue
		}
		keys, _ := object.keys(parent.child(name, nil).path)
		inner := map[string]*yamldoc.Node{}
		for _, key := range keys {
			inner[key] = unknownMapping()
		}
		all[name] = mapping(inner)
	}
	if one, ok := all[""]; ok { // the one item of a list
		return ask(parent.child("", nil).document(one))
	}
	return ask(parent.document(with(words, all)))
}

// same says whether two sights are of values that are read alike.
func (s sight) same(o sight) bool { return fmt.Sprint(s) == fmt.Sprint(o) }
