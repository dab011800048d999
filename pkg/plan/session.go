package plan

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TypeSession is the type of the step that opens the session of a group, or of a
// stage, some of whose steps run programs (see pkg/session). It is the first of
// its list; no identifier can be the one that it has.
const TypeSession = "Initialize"

// initialize is the end of its id.
const initialize = "-initialize"

// opened puts the step that opens a session before a list of steps, if some of
// them need one. Steps of a containerized group have that group's.
func (b *builder) opened(list []*Node, doc *yamldoc.Node, at place) []*Node {
	if b.src.Session == nil || !b.needSession(doc) {
		return list
	}
	n := &Node{
		ID: at.below(initialize), Kind: KindStep, Identifier: initialize, Name: TypeSession, Type: TypeSession, Line: doc.Line,
		Doc: &yamldoc.Node{Kind: yamldoc.Mapping}, Strategies: slices.Clone(at.levels), Selectors: at.selectors,
	}
	b.add(n.ID, doc)
	return slices.Insert(list, 0, n)
}

// needSession says whether a step of a list, or of a plain group in it, needs a
// session.
func (b *builder) needSession(list *yamldoc.Node) bool {
	return slices.ContainsFunc(flat(list, "steps"), func(item *yamldoc.Node) bool {
		group := item.Get("stepGroup")
		switch {
		case item.Get("parallel") != nil:
			return b.needSession(item.Get("parallel"))
		case group != nil:
			return !containerized(group) && (b.needSession(group.Get("steps")) || b.needSession(group.Get("rollbackSteps")))
		}
		return b.src.Session(str(item.Get("step"), "type"))
	})
}

func containerized(group *yamldoc.Node) bool {
	infra := group.Get("stepGroupInfra")
	return infra != nil && infra.Kind == yamldoc.Mapping
}

// Session is the step that opens the session of a node; nil if it has none.
func (n *Node) Session() *Node {
	for p := n.parent; p != nil && p.Kind != KindPipeline; n, p = p, p.parent {
		lists := [][]*Node{p.Children}
		if slices.ContainsFunc(p.Rollback, func(c *Node) bool { return c.ID == n.ID }) {
			lists = [][]*Node{p.Rollback, p.Children}
			if p.Kind == KindStage { // its rollback has nothing of what came before
				lists = lists[:1]
			}
		}
		for _, list := range lists {
			for _, c := range list {
				if c.Type == TypeSession && c.Provisions == n.Provisions { // a stage's sections have one each
					return c
				}
			}
		}
	}
	return nil
}
