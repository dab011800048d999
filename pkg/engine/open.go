package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// An execution has at most extent.MaxNodes nodes, with those of the executions
// that it starts. Loops that are written out are counted when it is planned.
// What else comes into being while it runs is counted by the commit in which
// it begins: the iterations of other loops, and the executions of Pipeline
// stages. One that has no room left fails by its strategy.

// errFull is the error of a commit that brings nodes for which there is no
// room. The decision is made anew, knowing it.
var errFull = errors.New("the execution has as many nodes as it may have")

// opening is what the writes of a commit bring of nodes.
func (r *Reader) opening(ctx context.Context, snap *snapshot, writes []Write) (store.Opening, error) {
	e := snap.execution
	o := store.Opening{Of: e.ID, Most: extent.MaxNodes - snap.plan.Nodes()}
	for _, w := range writes {
		o.Nodes = extent.Add(o.Nodes, snap.opens(w))
	}
	if o.Nodes == 0 {
		return store.Opening{}, nil
	}
	if slices.ContainsFunc(writes, func(w Write) bool { return w.State.Inherited }) { // the other execution had room
		o.Most = 2 * extent.MaxNodes
	}
	if e.Parent.Execution == "" {
		return o, nil
	}
	parent, err := r.store.Execution(ctx, e.Parent.Execution)
	if err != nil {
		return store.Opening{}, err
	}
	p, err := r.plans.read(ctx, parent.PlanHash)
	if err != nil {
		return store.Opening{}, err
	}
	o.Of, o.Most = parent.ID, extent.MaxNodes-p.Nodes()
	return o, nil
}

// opens is how many nodes a write brings: of a loop that begins, and of the
// root of an execution that another one has started.
func (s *snapshot) opens(w Write) int {
	n, old := s.plan.Node(w.Node), s.state(w.Node)
	switch {
	case n == nil || notStarted(w.State.Status) || w.State.Status.Terminal() && !w.State.Inherited:
		return 0
	case n.Kind == plan.KindLoop && w.State.Iterations != nil && old.Iterations == nil:
		return n.Opens(len(w.State.Iterations.List))
	case n == s.plan.Root && s.execution.Parent.Execution != "" && notStarted(old.Status):
		return s.plan.Nodes()
	}
	return 0
}

// room says why nothing may begin that brings nodes, if a commit has found that
// there is none.
func (s *snapshot) room(brings int) error {
	if s.full && brings > 0 {
		return extent.Nodes(extent.MaxNodes + 1)
	}
	return nil
}
