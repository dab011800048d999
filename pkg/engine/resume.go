package engine

import (
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// resumePoint is where an execution that goes on from another's stage begins:
// the index of the stage, or of its parallel block, in the pipeline; -1 if
// there is no such stage.
func resumePoint(root *plan.Node, stage string) int {
	return slices.IndexFunc(root.Children, func(c *plan.Node) bool {
		named := func(n *plan.Node) bool { return n.Kind != plan.KindParallel && n.Identifier == stage }
		return named(c) || c.Kind == plan.KindParallel && slices.ContainsFunc(c.Children, named)
	})
}

// CanResume says why a plan can't go on where an execution of another plan
// has a stage: what comes before it must be the same stages
// (semantics/pipeline §8.4).
func CanResume(old, fresh *plan.Plan, stage string) error {
	at, was := resumePoint(fresh.Root, stage), resumePoint(old.Root, stage)
	if at < 0 || was < 0 {
		return fault.New(fault.NotFound, "the pipeline has no stage %q", stage)
	}
	same := func(a, b *plan.Node) bool { return a.ID == b.ID && a.Kind == b.Kind }
	if !slices.EqualFunc(old.Root.Children[:was], fresh.Root.Children[:at], func(a, b *plan.Node) bool {
		return same(a, b) && (a.Kind != plan.KindParallel || slices.EqualFunc(a.Children, b.Children, same))
	}) {
		return fault.New(fault.Conflict, "the stages before %s aren't those of the earlier execution any more; run the pipeline as a whole", stage)
	}
	return nil
}

// inherit gives an execution that goes on from another's stage what that
// one's earlier stages came to, and one that rolls another back what all came to: as they have ended, the pipeline passes them.
// The root's record, written last, says that it has been done.
func (h *Handler) inherit(ctx context.Context, snap *snapshot) error {
	e, root := snap.execution, snap.plan.Root
	if e.Resume == nil && e.RollbackOf == "" || snap.state(root.ID).Status != "" || snap.err != nil {
		return snap.err
	}
	nodes, kept, err := h.Reader.heirloom(ctx, e, root)
	if err != nil {
		return err
	}
	var writes []Write
	ids := []plan.NodeID{root.ID}
	for _, old := range nodes {
		if !within(snap.plan.Node(old.ID), kept) {
			continue
		}
		s := old.State
		s.Token, s.Turn, s.Unwind, s.Inherited = "", "", plan.Unwind{}, true
		writes, ids = append(writes, Write{Node: old.ID, State: s}), append(ids, old.ID)
	}
	snap.load(ids...)
	if snap.err != nil {
		return snap.err
	}
	return h.commit(ctx, snap, append(writes, Write{Node: root.ID, State: plan.State{Status: plan.NotStarted}}))
}

// heirloom is what an execution takes over: the nodes of another, and which of
// the pipeline's children with all below them. One that is rolled back gives
// everything.
func (r *Reader) heirloom(ctx context.Context, e store.Execution, root *plan.Node) ([]store.Node, map[plan.NodeID]bool, error) {
	if e.RollbackOf != "" {
		nodes, err := r.store.AllNodes(ctx, e.RollbackOf)
		return nodes, passed(root.Children, len(root.Children), false, nodes), err
	}
	nodes, err := r.store.AllNodes(ctx, e.Resume.Execution)
	if err != nil {
		return nil, nil, err
	}
	at := resumePoint(root, e.Resume.Stage)
	if at < 0 {
		return nil, nil, fault.New(fault.NotFound, "the plan has no stage %q", e.Resume.Stage)
	}
	return nodes, passed(root.Children, at, e.Resume.All, nodes), nil
}

// passed are the nodes that aren't repeated: those before the point and,
// unless all of a parallel block is repeated, its stages that ended well.
func passed(stages []*plan.Node, at int, all bool, nodes []store.Node) map[plan.NodeID]bool {
	kept := map[plan.NodeID]bool{}
	for _, c := range stages[:at] {
		kept[c.ID] = true
	}
	if at == len(stages) {
		return kept
	}
	if block := stages[at]; block.Kind == plan.KindParallel && !all {
		for _, n := range nodes {
			kept[n.ID] = n.State.Status.Good() && slices.ContainsFunc(block.Children, func(c *plan.Node) bool { return c.ID == n.ID }) || kept[n.ID]
		}
	}
	return kept
}

// within says whether a node, if there is one, is or stands below one of some.
func within(n *plan.Node, some map[plan.NodeID]bool) bool {
	for ; n != nil; n = n.Parent() {
		if some[n.ID] {
			return true
		}
	}
	return false
}
