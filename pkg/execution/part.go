package execution

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
)

const (
	// MaxShown is how many nodes an answer shows.
	MaxShown = 2_000
	// MaxAnswer is how large an answer with nodes is, in bytes, as a text within
	// a JSON document: so a Lambda function gives it back, of 6 MB at most.
	MaxAnswer = 4 << 20
	// aroundNode is room for what is around a node in an answer: its list of
	// children, and what it says of those that are hidden.
	aroundNode = 256
)

// Part says which part of a tree is wanted. The zero value is as much of the
// whole as an answer may have.
type Part struct {
	// Node is whose subtree it is: its id, or its identifier where only one node
	// has it. Empty: the pipeline.
	Node string
	// From is the first of its children that is wanted, by its index.
	From int
	// Status takes nodes of an execution alone that have one of these, and those
	// above them.
	Status []plan.Status

	taken int // how much of the answer is for something else, in bytes
}

// Hidden are the nodes below one that an answer has no room for. Its first
// children are shown, in their order, and the others with all that is below
// them aren't.
type Hidden struct {
	Nodes int `json:"nodes" doc:"How many there are"`
	From  int `json:"from" doc:"The index of the first child that isn't shown: ask for the rest with node and from"`
	// Statuses counts those of an execution.
	Statuses map[plan.Status]int `json:"statuses,omitempty" doc:"How many have which status, of an execution. Those that wait for a delegate are Running"`
}

// family is a sort of tree that an answer may show a part of.
type family[N any] struct {
	named    func(N) (id plan.NodeID, identifier string)
	children func(N) *[]N
	hide     func(parent N, from int, hidden []N)
	complete func(N) error // what only a node that is shown needs
}

// cut takes away what doesn't fit into an answer, those farthest from the root
// first: a level is shown before what is below it. The root and the first of
// its children that are wanted are shown whatever their size, so that whoever
// asks for the rest comes to the end of it.
func (f family[N]) cut(root N, from, taken int) error {
	r := &room{nodes: MaxShown, bytes: MaxAnswer - taken}
	if _, err := f.fits(r, root); err != nil {
		return err
	}
	level, err := f.shorten(r, root, min(max(from, 0), len(*f.children(root))), 1)
	for len(level) > 0 && err == nil {
		var below []N
		for _, n := range level {
			some, wrong := f.shorten(r, n, 0, 0)
			if wrong != nil {
				return wrong
			}
			below = append(below, some...)
		}
		level = below
	}
	return err
}

// room is what is left of an answer. Once there is too little it is negative
// for good.
type room struct{ nodes, bytes int }

// shorten leaves those of a node's children that there is room for, and gives
// them: from one on, and at least so many.
func (f family[N]) shorten(r *room, n N, begin, least int) ([]N, error) {
	all := *f.children(n)
	end := begin
	for ; end < len(all); end++ {
		ok, err := f.fits(r, all[end])
		if err != nil {
			return nil, err
		}
		if !ok && end-begin >= least {
			break
		}
	}
	*f.children(n) = all[begin:end:end]
	if end < len(all) {
		f.hide(n, end, all[end:])
	}
	return all[begin:end], nil
}

// fits takes the room of a node without its children; false: there was too little.
func (f family[N]) fits(r *room, n N) (bool, error) {
	if r.nodes < 0 || r.bytes < 0 {
		return false, nil
	}
	if err := f.complete(n); err != nil {
		return false, err
	}
	list := f.children(n)
	all := *list
	*list = nil
	size, err := answerSize(n)
	*list = all
	r.nodes, r.bytes = r.nodes-1, r.bytes-size-aroundNode
	return r.nodes >= 0 && r.bytes >= 0, err
}

// answerSize is how much room a value takes of an answer.
func answerSize(v any) (int, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("encode a part of an answer: %w", err)
	}
	text, err := json.Marshal(string(doc))
	return len(text), err
}

// count visits the nodes of some trees.
func (f family[N]) count(trees []N, visit func(N)) (nodes int) {
	for _, n := range trees {
		visit(n)
		nodes += 1 + f.count(*f.children(n), visit)
	}
	return nodes
}

// nodesOf are those of an execution.
func nodesOf(complete func(*TreeNode) error) family[*TreeNode] {
	f := family[*TreeNode]{
		complete: complete,
		named:    func(n *TreeNode) (plan.NodeID, string) { return n.ID, n.Identifier },
		children: func(n *TreeNode) *[]*TreeNode { return &n.Children },
	}
	f.hide = func(n *TreeNode, from int, hidden []*TreeNode) {
		h := &Hidden{From: from, Statuses: map[plan.Status]int{}}
		h.Nodes = f.count(hidden, func(c *TreeNode) { h.Statuses[c.Status]++ })
		n.Hidden = h
	}
	return f
}

// rehearsedOf are those that would run.
func rehearsedOf(complete func(*Rehearsed) error) family[*Rehearsed] {
	f := family[*Rehearsed]{
		complete: complete,
		named:    func(n *Rehearsed) (plan.NodeID, string) { return n.ID, n.Identifier },
		children: func(n *Rehearsed) *[]*Rehearsed { return &n.Children },
	}
	f.hide = func(n *Rehearsed, from int, hidden []*Rehearsed) {
		n.Hidden = &Hidden{From: from, Nodes: f.count(hidden, func(*Rehearsed) {})}
	}
	return f
}

// part is the part of a tree that is wanted, as far as an answer has room for it.
func (f family[N]) part(root N, whose string, wanted Part) (N, error) {
	if wanted.Node != "" {
		var err error
		if root, err = f.find(root, whose, wanted.Node); err != nil {
			return root, err
		}
	}
	return root, f.cut(root, wanted.From, wanted.taken)
}

// only takes away the nodes that have none of the statuses, but for those above
// others; false: nothing is left.
func only(n *TreeNode, statuses []plan.Status) bool {
	n.Children = slices.DeleteFunc(n.Children, func(c *TreeNode) bool { return !only(c, statuses) })
	return len(n.Children) > 0 || slices.Contains(statuses, n.Status)
}
