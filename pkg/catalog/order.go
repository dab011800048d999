package catalog

import (
	"cmp"
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
)

// order puts what is named before what names it.
func order(all []prepared) {
	within := nesting{all: all, known: map[*entity.Entity]int{}}
	rank := func(p prepared) int { return slices.Index(ref.Kinds(), p.entity.Kind) }
	slices.SortStableFunc(all, func(a, b prepared) int {
		return cmp.Or(rank(a)-rank(b), within.of(a.entity)-within.of(b.entity))
	})
}

// nesting is how deep templates are nested in others of a set.
type nesting struct {
	all   []prepared
	known map[*entity.Entity]int
}

// of is how many levels of templates an entity's template is made of.
func (n nesting) of(e *entity.Entity) int {
	if e.Template == nil {
		return 0
	}
	if deep, ok := n.known[e]; ok {
		return deep
	}
	n.known[e] = 0 // of a circle, which is refused elsewhere
	deepest := 0
	for _, r := range e.References {
		if inner := n.find(r); inner != nil {
			deepest = max(deepest, 1+n.of(inner))
		}
	}
	n.known[e] = deepest
	return deepest
}

// find is the template that a reference names, if it is in the set.
func (n nesting) find(r entity.Reference) *entity.Entity {
	id, label := template.SplitID(r.Ref.ID)
	for _, p := range n.all {
		if e := p.entity; r.Kind == ref.Template && e.Template != nil && e.Scope == r.Ref.Scope &&
			e.Identifier.Value == id && (label == "" || label == e.Template.VersionLabel.Value) {
			return e
		}
	}
	return nil
}
