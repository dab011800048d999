package plan

import "slices"

// TypeSession is the type of the step that opens the session of a group, or of a
// stage, some of whose steps run programs (see pkg/session). It is the first of
// its list; no identifier can be the one that it has.
const TypeSession = "Initialize"

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
