package execution

import (
	"context"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// shown is how many nodes a message about one that there isn't names.
const shown = 20

// FindNode finds a node of an execution by its id, or by its identifier where
// only one node has it. It comes without its children.
func (s *Service) FindNode(ctx context.Context, id, name string) (*TreeNode, error) {
	n, err := s.nodeAt(ctx, id, plan.NodeID(name))
	if err != nil {
		return nil, err
	}
	if n != nil {
		return n, s.markWaiting(ctx, id, n)
	}
	t, err := s.whole(ctx, id, s.states)
	if err != nil {
		return nil, err
	}
	if n, err = nodesOf(nil).find(t.Root, "execution "+id, name); err != nil {
		return nil, err
	}
	n.Children = nil
	return n, nil
}

// nodeAt finds a node by its id, which takes no more than its own record and
// those of the loops that it is in. nil: the execution has none such; of a loop
// it has the iterations that the loop has come to.
func (s *Service) nodeAt(ctx context.Context, id string, node plan.NodeID) (*TreeNode, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := s.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return nil, err
	}
	n := p.Node(node)
	if n == nil {
		return nil, nil
	}
	ids := []plan.NodeID{n.ID}
	for loop, _ := n.Looped(); loop != nil; loop, _ = loop.Looped() {
		ids = append(ids, loop.ID)
	}
	records, err := s.Store.Nodes(ctx, id, ids...)
	if err != nil {
		return nil, err
	}
	states := store.States(records)
	for loop, postfix := n.Looped(); loop != nil; loop, postfix = loop.Looped() {
		if states[loop.ID].Iterations.Of(postfix) == nil {
			return nil, nil
		}
	}
	return nodeOf(id, n, states[n.ID]), nil
}

// find finds a node of a tree by its id, or by its identifier where only one
// node has it. whose is what the tree is of, for a message.
func (f family[N]) find(root N, whose, name string) (N, error) {
	var exact, found []N
	var there, ids []string
	f.count(*f.children(root), func(n N) {
		id, identifier := f.named(n)
		if identifier != "" && len(there) < shown && !slices.Contains(there, identifier) {
			there = append(there, identifier)
		}
		if string(id) == name {
			exact = append(exact, n)
		}
		if identifier == name {
			found, ids = append(found, n), append(ids, string(id))
		}
	})
	if id, identifier := f.named(root); string(id) == name || identifier == name && len(found) == 0 {
		return root, nil
	}
	var none N
	switch {
	case len(exact) > 0:
		return exact[0], nil
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return none, fault.New(fault.NotFound, "%s has no stage and no step %q; it has %s", whose, name, strings.Join(there, ", "))
	}
	return none, fault.New(fault.Invalid, "%s has %d nodes %q; say which: %s", whose, len(found), name, strings.Join(ids[:min(len(ids), shown)], ", "))
}
