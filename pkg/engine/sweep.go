package engine

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// A failure whose strategy has failAll (semantics/pipeline §5.4) doesn't wait
// for the other members of its parallel block: their steps that deploy are
// cancelled, what they have not started stays so, and no strategy of theirs
// applies any more. Other steps of theirs run to their end. Iterations of a
// loop that have started go on; those that haven't are skipped.

// sweptMessage says why something was ended, or not begun.
const sweptMessage = "stopped: another one in the parallel block failed, and its strategy fails all (failAll)"

// swept says whether what a node is in ends because of another member of a
// parallel block around it.
func (d *states) swept(n *plan.Node) bool {
	if !d.plan.FailsAll() || n.InRollback() {
		return false
	}
	for p := n.Parent(); p != nil && p.Kind != plan.KindLoop; n, p = p, p.Parent() {
		if p.Kind != plan.KindParallel {
			continue
		}
		for _, other := range p.Children {
			if other.ID != n.ID && d.get(other.ID).Unwind.FailAll {
				return true
			}
		}
	}
	return false
}

// failedAll says whether the failure of an iteration skips those of its loop
// that haven't started.
func (d *states) failedAll(loop *plan.Node, s plan.State) bool {
	for _, it := range s.Iterations.List {
		if d.get(loop.Iteration(it.Postfix)).Unwind.FailAll {
			return true
		}
	}
	return false
}

// sweep wakes the steps that a failure ends. One that isn't reached, because
// it was just about to begin, runs to its end.
func (h *Handler) sweep(ctx context.Context, snap *snapshot, written []Write) error {
	if !snap.plan.FailsAll() {
		return nil
	}
	for _, w := range written {
		n := snap.plan.Node(w.Node)
		block := n.Parent()
		if !w.State.Status.Terminal() || !w.State.Unwind.FailAll || block == nil || block.Kind != plan.KindParallel {
			continue
		}
		nodes, err := h.Store.AllNodes(ctx, snap.execution.ID)
		if err != nil {
			return err
		}
		for _, other := range nodes {
			on := snap.plan.Node(other.ID)
			if other.State.Attempt == 0 || other.State.Status.Terminal() || below(on, n) || !below(on, block) {
				continue
			}
			if err := h.answerWork(ctx, other.State.Token, TaskID(other.Execution, other.ID, other.State.Attempt, other.State.Look)); err != nil {
				return err
			}
		}
	}
	return nil
}
