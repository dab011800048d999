package input

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Strays are the values of a source that have no place in a document any more,
// and what would be left empty without them. The details name the former.
func Strays(doc, source *yamldoc.Node) (map[*yamldoc.Node]bool, []fault.Detail) {
	m := merger{}
	m.node(doc, spot{given: []given{{node: source, lenient: true}}})
	if len(m.strays) == 0 {
		return nil, nil
	}
	gone := map[*yamldoc.Node]bool{}
	for _, n := range m.strays {
		gone[n] = true
	}
	sweep(source, gone)
	delete(gone, source)
	return gone, slices.DeleteFunc(slices.Concat(m.out.Warnings, m.out.Wrong), func(d fault.Detail) bool { return d.Code != NoInput })
}

// sweep adds what has lost values and has nothing left but what identifies it.
func sweep(n *yamldoc.Node, gone map[*yamldoc.Node]bool) {
	lost, left := false, false
	for _, e := range n.Entries {
		sweep(e.Value, gone)
		lost = lost || gone[e.Value]
		left = left || !gone[e.Value] && !identifies(n, e)
	}
	for _, item := range n.Items {
		sweep(item, gone)
		lost = lost || gone[item]
		left = left || !gone[item]
	}
	if lost && !left {
		gone[n] = true
	}
}
