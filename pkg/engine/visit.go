package engine

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// stepsOf lists the steps of some types below a node. In a loop that has started
// these are those of its iterations; in one that hasn't, its template's.
func stepsOf(p *plan.Plan, n *plan.Node, types []string, state func(plan.NodeID) plan.State) []*plan.Node {
	var found []*plan.Node
	var walk func(*plan.Node)
	walk = func(n *plan.Node) {
		switch {
		case !has(n, types):
			return
		case n.Kind == plan.KindStep:
			found = append(found, n)
		case n.Kind == plan.KindLoop:
			if s := state(n.ID); s.Iterations != nil {
				for _, c := range p.Children(n, s) {
					walk(c)
				}
				return
			}
		}
		for _, list := range [][]*plan.Node{n.Children, n.Rollback} {
			for _, c := range list {
				walk(c)
			}
		}
	}
	walk(n)
	return found
}

// has says whether a node is a step of one of some types or has one below it.
func has(n *plan.Node, types []string) bool {
	if n.Kind == plan.KindStep {
		return slices.Contains(types, n.Type)
	}
	for _, list := range [][]*plan.Node{n.Children, n.Rollback} {
		for _, c := range list {
			if has(c, types) {
				return true
			}
		}
	}
	return false
}
