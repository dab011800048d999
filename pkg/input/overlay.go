package input

import (
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Overlay fills those of a document's runtime inputs that over has a value
// for; the others stay inputs. A value may be a runtime input too: then what
// both say of it holds, each suffix from one of them (semantics/pipeline §2.1).
func Overlay(doc, over *yamldoc.Node) Merged {
	m := merger{overlay: true}
	at := spot{}
	if over != nil {
		at.given = []given{{node: over}}
	}
	m.out.Doc, _ = m.node(doc, at)
	m.out.found = m.found
	return m.out
}

// overlaid is what becomes of one input.
func (m *merger) overlaid(n *yamldoc.Node, r Runtime, at spot) *yamldoc.Node {
	if len(at.given) == 0 || at.given[0].node.Kind == yamldoc.Null {
		return n
	}
	value := at.given[0].node
	if _, again := runtime(value); !again {
		m.check(r, value, false, at)
		return value
	}
	limits, asked := suffixes(n), suffixes(value)
	if limits == "" || asked == limits {
		return value
	}
	out := *value
	out.Value = expr.InputPrefix + asked + limits
	if _, err := expr.ParseInput(out.Value); err != nil {
		m.wrong(value, at, badInput, fmt.Sprintf("found %s, but what is filled says %s: a default or a limit stands in one of them", value.Value, n.Value))
		return n
	}
	return &out
}

func suffixes(n *yamldoc.Node) string {
	return strings.TrimPrefix(strings.TrimSpace(n.Value), expr.InputPrefix)
}

// lifted is what a source has for a node that is made of a template: Harness
// writes its inputs as those of the link.
func lifted(doc, source *yamldoc.Node) *yamldoc.Node {
	link := source.Get("template")
	inputs := link.Get("templateInputs")
	if inputs == nil || inputs.Kind != yamldoc.Mapping || doc.Get("template") == nil || doc.At("template", "templateInputs") != nil {
		return source
	}
	out := copyOf(source)
	out.Entries = nil
	for _, e := range source.Entries {
		if e.Value != link {
			out.Entries = append(out.Entries, e)
		}
	}
	for _, e := range inputs.Entries {
		if out.Get(e.Key) == nil {
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}
