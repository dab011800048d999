package schema

import (
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// nobody is a key that no mapping has, so that one with it alone isn't empty.
const nobody = "~"

// notes are what a decoder takes one value for, with the words of each use.
type notes struct {
	uses   map[yamldoc.Use][]string
	oneOf  [][]string
	keys   document.Keys
	refuse map[string]string // why a word is refused
}

func (n *notes) add(u yamldoc.Usage) {
	n.uses[u.Use] = append(n.uses[u.Use], u.Words...)
	n.keys = document.Merge(n.keys, u.Keys)
	if u.Use == yamldoc.UseWithout {
		n.refuse[u.Words[0]] = u.Words[1]
	}
	if u.Use == yamldoc.UseOneOf && !slices.ContainsFunc(n.oneOf, func(w []string) bool { return slices.Equal(w, u.Words) }) {
		n.oneOf = append(n.oneOf, u.Words)
	}
}

func (n *notes) has(use yamldoc.Use) bool {
	_, ok := n.uses[use]
	return ok
}

// describer hears what decoders take values for.
type describer struct {
	report  *yamldoc.Report
	options entity.Options // with what documents are decoded
	heard   map[*yamldoc.Node]*notes
	open    bool // a runtime input may stand for any part
}

func newDescriber(options entity.Options) *describer {
	d := &describer{options: options}
	d.report = yamldoc.NewReport("").Watch(func(u yamldoc.Usage) {
		if n := d.heard[u.Node]; n != nil {
			n.add(u)
		}
	})
	return d
}

// root is the rule of a kind's document, below its root key.
func (d *describer) root(kind ref.Kind) document.Rule {
	return func(v yamldoc.Value) {
		entity.Decode(mapping(map[string]*yamldoc.Node{string(kind): v.Node}), d.report, d.options)
	}
}

// hear has a rule say what it takes a value for.
func (d *describer) hear(key string, rule document.Rule, value *yamldoc.Node) *notes {
	n := &notes{uses: map[yamldoc.Use][]string{}, refuse: map[string]string{}}
	d.heard = map[*yamldoc.Node]*notes{value: n}
	decode := func() { rule(document.At(yamldoc.Value{}, key, value)) }
	if d.open {
		d.report.Opened(expr.IsRuntimeInput, decode)
	} else {
		decode()
	}
	return n
}

// item is the rule of a list's items.
func item(key string, list document.Rule) document.Rule {
	return func(v yamldoc.Value) { list(document.At(yamldoc.Value{}, key, sequence(v.Node))) }
}

func scalar(text string) *yamldoc.Node { return &yamldoc.Node{Kind: yamldoc.Scalar, Value: text} }

func sequence(items ...*yamldoc.Node) *yamldoc.Node {
	return &yamldoc.Node{Kind: yamldoc.Sequence, Items: items}
}

func mapping(nodes map[string]*yamldoc.Node) *yamldoc.Node {
	n := &yamldoc.Node{Kind: yamldoc.Mapping}
	for _, key := range slices.Sorted(maps.Keys(nodes)) {
		n.Entries = append(n.Entries, yamldoc.Entry{Key: key, Value: nodes[key]})
	}
	return n
}

// saying is a mapping that says some words and nothing else that is known.
func saying(words map[string]string) *yamldoc.Node {
	nodes := map[string]*yamldoc.Node{nobody: scalar("x")}
	for key, word := range words {
		nodes[key] = scalar(word)
	}
	return mapping(nodes)
}

// full is a mapping that says some words and has some text at every other key
// but some.
func full(words map[string]string, keys []string, but ...string) *yamldoc.Node {
	nodes := map[string]*yamldoc.Node{}
	for _, key := range keys {
		if word, ok := words[key]; ok {
			nodes[key] = scalar(word)
		} else if !slices.Contains(but, key) {
			nodes[key] = scalar("x")
		}
	}
	return mapping(nodes)
}
