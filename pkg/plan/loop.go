package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Loop is a looping strategy: its node stands around a stage, a step or a
// group, which runs once for each iteration (semantics/pipeline §6). How many
// there are is known when the loop starts, so the plan has the loop's only
// child as a template; the nodes of an iteration are made from it by
// Plan.Node.
type Loop struct {
	// Doc is below the key strategy; of a stage with several deployments, below
	// multiDeploymentConfig, and nil if there is none.
	Doc        *yamldoc.Node `json:"doc,omitempty"`
	Deploys    bool          `json:"deploys,omitempty"`    // its iterations are the stage's deployments
	SkipQueued bool          `json:"skipQueued,omitempty"` // a failure skips iterations that haven't started
}

// Iterations are what a loop came to when it started.
type Iterations struct {
	List           []Iteration `json:"list"`
	MaxConcurrency int         `json:"maxConcurrency,omitempty"` // 0: all at once
	// Lined says that services follow each other on an infrastructure: where one
	// fails, those after it are skipped (semantics/entities §5.2).
	Lined bool `json:"lined,omitempty"`
}

// Iteration is one run of a loop's template.
type Iteration struct {
	Postfix string `json:"postfix"` // of the identifier: _1, or _0_2 with the index on each axis
	Name    string `json:"name"`    // for people
	// Values are what expressions read: {"matrix": {axis: value}} or
	// {"repeat": {"item": value}}.
	Values json.RawMessage `json:"values,omitempty"`
	// Wave orders iterations: one begins when all of earlier waves have ended.
	Wave int `json:"wave,omitempty"`
	// Choice is what an iteration of a stage with several deployments deploys
	// where.
	Choice *Choice `json:"choice,omitempty"`
}

// Of finds the iteration with a postfix; nil if there is none such.
func (its *Iterations) Of(postfix string) *Iteration {
	if its == nil {
		return nil
	}
	i := slices.IndexFunc(its.List, func(it Iteration) bool { return it.Postfix == postfix })
	if i < 0 {
		return nil
	}
	return &its.List[i]
}

// IsPostfix says whether a text is what an iteration's identifier ends with.
func IsPostfix(s string) bool {
	if s == "" || s[0] != '_' {
		return false
	}
	for part := range strings.SplitSeq(s[1:], "_") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}

// Iteration is the id of a loop's iteration.
func (n *Node) Iteration(postfix string) NodeID { return n.ID + NodeID(postfix) }

// Children are the children of a node that an execution has, by the node's
// state: of a loop those of its iterations, none before it has started.
func (p *Plan) Children(n *Node, s State) []*Node {
	if n.Kind != KindLoop {
		return n.Children
	}
	if s.Iterations == nil {
		return nil
	}
	children := make([]*Node, len(s.Iterations.List))
	for i, it := range s.Iterations.List {
		children[i] = p.Node(n.Iteration(it.Postfix))
	}
	return children
}

// Looped is the nearest loop that a node is in, with the postfix of its
// iteration; nil outside loops.
func (n *Node) Looped() (loop *Node, postfix string) {
	for ; n != nil; n = n.parent {
		if n.parent != nil && n.parent.Kind == KindLoop {
			return n.parent, strings.TrimPrefix(string(n.ID), string(n.parent.ID))
		}
	}
	return nil, ""
}

// Postfix is what a node's identifier ends with if it is an iteration.
func (n *Node) Postfix() string {
	if loop, postfix := n.Looped(); loop != nil && loop == n.parent {
		return postfix
	}
	return ""
}

// maxMade bounds the nodes of iterations that a plan keeps.
const maxMade = 50_000

// iteration makes the nodes of the iterations that an id names, outer to inner.
// Whether a loop has such an iteration is for its State to say.
func (p *Plan) iteration(id NodeID) *Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.made) > maxMade {
		clear(p.made)
	}
	for end := range len(id) + 1 {
		if end < len(id) && id[end] != '.' {
			continue
		}
		prefix := id[:end]
		if p.known(prefix) != nil {
			continue
		}
		if loop := p.loopOf(prefix); loop != nil {
			p.make(loop, prefix)
		}
	}
	return p.known(id)
}

func (p *Plan) known(id NodeID) *Node {
	if n := p.index[id]; n != nil {
		return n
	}
	return p.made[id]
}

// loopOf finds the loop whose iteration an id names.
func (p *Plan) loopOf(id NodeID) *Node {
	for cut := strings.LastIndexByte(string(id), '_'); cut > 0; cut = strings.LastIndexByte(string(id[:cut]), '_') {
		if !IsPostfix(string(id[cut:])) {
			return nil
		}
		if n := p.known(id[:cut]); n != nil && n.Kind == KindLoop {
			return n
		}
	}
	return nil
}

// make copies a loop's template for an iteration.
func (p *Plan) make(loop *Node, id NodeID) {
	var copyOf func(n, parent *Node, rollback bool) *Node
	copyOf = func(n, parent *Node, rollback bool) *Node {
		c := *n
		c.ID = id + n.ID[len(loop.ID):]
		c.parent, c.inRollback = parent, rollback
		c.Children = slices.Clone(n.Children)
		for i := range c.Children {
			c.Children[i] = copyOf(c.Children[i], &c, rollback)
		}
		c.Rollback = slices.Clone(n.Rollback)
		for i := range c.Rollback {
			c.Rollback[i] = copyOf(c.Rollback[i], &c, true)
		}
		return &c
	}
	root := copyOf(loop.Children[0], loop, loop.inRollback)
	root.Identifier += string(id[len(loop.ID):])
	indexNodes(root, p.made)
}

// indexNodes adds a node and what is below it to an index, but for the
// templates of loops, which no execution has.
func indexNodes(n *Node, index map[NodeID]*Node) {
	index[n.ID] = n
	if n.Kind == KindLoop {
		return
	}
	for _, c := range n.Children {
		indexNodes(c, index)
	}
	for _, c := range n.Rollback {
		indexNodes(c, index)
	}
}
