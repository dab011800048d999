package plan

import "github.com/slipway-cd/slipway/pkg/extent"

// Nodes is how many nodes an execution of the plan has for certain: with the
// iterations of loops that are written out, without those of other loops. It
// isn't exact above extent.MaxNodes.
func (p *Plan) Nodes() int { return p.nodes }

// Opens is how many nodes a loop brings, beyond those that Nodes counts, when
// it begins with so many iterations.
func (n *Node) Opens(iterations int) int {
	if n.Loop == nil {
		return 0
	}
	if _, written := n.written(); written {
		return 0
	}
	return extent.Times(iterations, n.Children[0].nodes())
}

func (n *Node) nodes() int {
	if n.Kind == KindLoop {
		times, _ := n.written()
		return extent.Add(1, extent.Times(times, n.Children[0].nodes()))
	}
	sum := 1
	for _, list := range [][]*Node{n.Children, n.Rollback} {
		for _, c := range list {
			sum = extent.Add(sum, c.nodes())
		}
	}
	return sum
}

// written is how many iterations a loop has, if its document says it by itself.
func (n *Node) written() (int, bool) {
	if n.Loop.Deploys {
		return 0, false
	}
	return extent.Written(n.Loop.Doc)
}
