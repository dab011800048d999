package engine

import (
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
)

// A Queue step (semantics/pipeline §7.2) waits until nobody before it in the
// queue of its key, which is the account's, is left. From then on it holds the
// key for its stage or its pipeline and gives it back when that ends. Its
// timeout bounds the wait.

// holds is the node for which a node holds its turn: a Queue step's stage or
// pipeline, by its scope. Others hold for themselves.
func holds(n *plan.Node) *plan.Node {
	if n.Kind != plan.KindStep {
		return n
	}
	stage := n.Stage()
	if scope := n.Doc.At("spec", "scope"); scope != nil && scope.Value == step.ScopeStage {
		return stage
	}
	for stage.Parent() != nil {
		stage = stage.Parent()
	}
	return stage
}

// queues lists the steps, of types that hold turns, that do so for a stage or a pipeline.
func queues(p *plan.Plan, n *plan.Node, types []string, state func(plan.NodeID) plan.State) []*plan.Node {
	if n.Kind != plan.KindStage && n.Kind != plan.KindPipeline {
		return nil
	}
	return slices.DeleteFunc(stepsOf(p, n, types, state), func(q *plan.Node) bool { return holds(q).ID != n.ID })
}

// line puts a Queue step in the line of its key; its machine run then waits
// for its turn. A key other than that of an earlier attempt leaves that line.
func (h *Handler) line(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, t step.Turn) error {
	s.Turn = snap.execution.Scope.Account + "/queue/" + t.Key
	s.Wait, s.Status = plan.WaitTurn, plan.ResourceWaiting
	return h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// passQueue lets a Queue step pass if it is its turn. It is, too, if what
// holds the key is the same stage or pipeline, or one that this one is in.
func (h *Handler) passQueue(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string) (waits bool, err error) {
	shares := func(first store.Holder) bool {
		holder := snap.plan.Node(first.Node)
		return first.Execution == snap.execution.ID && holder != nil && below(holds(n), holds(holder))
	}
	waits, err = h.waitIn(ctx, snap, n, s, token, func() (bool, error) {
		return h.lines.standIn(ctx, gate{key: s.Turn, places: 1}, store.Holder{Execution: snap.execution.ID, Node: n.ID}, shares)
	})
	if waits || err != nil {
		return waits, err
	}
	s.Wait, s.Status, s.Token = plan.WaitWork, plan.Running, ""
	s.Outcome = &plan.Outcome{Status: plan.Success}
	return false, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// quit takes a Queue step that no longer waits for its turn, without having
// got it, out of the line, and an approval or a listener off its list.
func (w *walk) quit(n *plan.Node, s plan.State) plan.State {
	if (s.Wait == plan.WaitTurn || s.Wait == plan.WaitEvent || s.Approval != nil) && s.Turn != "" {
		w.out.Leave = append(w.out.Leave, Left{Node: n.ID, Key: s.Turn})
		s.Turn = ""
	}
	return s
}
