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
func resumePoint(p *plan.Plan, stage string) int {
	return slices.IndexFunc(p.Root.Children, func(c *plan.Node) bool {
		named := func(n *plan.Node) bool { return n.Kind != plan.KindParallel && n.Identifier == stage }
		return named(c) || c.Kind == plan.KindParallel && slices.ContainsFunc(c.Children, named)
	})
}

// CanResume says why a plan can't go on where an execution of another plan
// has a stage: what comes before it must be the same stages (pipeline spec
// §8.4).
func CanResume(old, fresh *plan.Plan, stage string) error {
	at, was := resumePoint(fresh, stage), resumePoint(old, stage)
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
// one's earlier stages came to. The root's record, written last, says that it
// has been done.
func (h *Handler) inherit(ctx context.Context, snap *snapshot) error {
	from, root := snap.execution.Resume, snap.plan.Root
	if from == nil || snap.state(root.ID).Status != "" || snap.err != nil {
		return snap.err
	}
	nodes, err := h.Store.AllNodes(ctx, from.Execution)
	if err != nil {
		return err
	}
	at := resumePoint(snap.plan, from.Stage)
	if at < 0 {
		return fault.New(fault.NotFound, "the plan has no stage %q", from.Stage)
	}
	var writes []Write
	s := plan.State{Status: plan.NotStarted, Cursor: at}
	ids := []plan.NodeID{root.ID}
	for _, old := range nodes {
		n := snap.plan.Node(old.ID)
		if n == nil || !inherited(root, n, at, from, nodes) {
			continue
		}
		st := old.State
		st.Token, st.Turn, st.Inherited = "", "", true
		writes, ids = append(writes, Write{Node: old.ID, State: st}), append(ids, old.ID)
		if i := slices.IndexFunc(root.Children[:at], func(c *plan.Node) bool { return c.ID == old.ID }); i >= 0 {
			s = count(s, n, st)
		}
	}
	s.Unwind = plan.Unwind{}
	snap.load(ids...)
	if snap.err != nil {
		return snap.err
	}
	return h.commit(ctx, snap, append(writes, Write{Node: root.ID, State: s}))
}

// inherited says whether a node keeps what it came to: one of a stage before
// the point, or, unless all of a parallel block is repeated, of a stage beside
// it that ended well.
func inherited(root, n *plan.Node, at int, from *store.Resume, nodes []store.Node) bool {
	stage := n
	for stage.Parent() != nil && stage.Parent().ID != root.ID {
		if stage.Parent().Kind == plan.KindParallel && stage.Parent().Parent().ID == root.ID {
			break
		}
		stage = stage.Parent()
	}
	if stage.ID == root.ID {
		return false
	}
	child := stage
	if child.Parent().ID != root.ID {
		child = child.Parent()
	}
	index := slices.IndexFunc(root.Children, func(c *plan.Node) bool { return c.ID == child.ID })
	if index < at {
		return true
	}
	return index == at && !from.All && child.ID != stage.ID && slices.ContainsFunc(nodes, func(o store.Node) bool {
		return o.ID == stage.ID && o.State.Status.Good()
	})
}
