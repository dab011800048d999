package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Limits bound how many executions run at the same time
// (semantics/pipeline §8.3); 0 is no limit. One that is over a limit is
// queued, in the order of starting, and never fails for it. Whatever an
// execution waits for, it counts; one that a Pipeline stage has started
// doesn't, because its parent does.
type Limits struct {
	Account  int // of all pipelines of an account
	Pipeline int // of each pipeline
}

// gate is a queue whose first ones, as many as there are places, run.
type gate struct {
	key    string
	places int
	what   string // is counted
}

// gates lists those that an execution must pass. It asks for a place in the
// account's queue when it has one in its pipeline's.
func (l Limits) gates(e store.Execution) []gate {
	if e.Parent.Execution != "" {
		return nil
	}
	prefix := e.Scope.Account + "/executions"
	return slices.DeleteFunc([]gate{
		{prefix + fmt.Sprintf("/%s/%s/%s", e.Scope.Org, e.Scope.Project, e.Pipeline), l.Pipeline, "of this pipeline"},
		{prefix, l.Account, "of the account"},
	}, func(g gate) bool { return g.places <= 0 })
}

// gated makes a pipeline that is about to begin wait at its gates first. Its
// time begins when it has passed them; Turn says that it has.
func (w *walk) gated(n *plan.Node, s plan.State) bool {
	if !w.Gated || n.Kind != plan.KindPipeline || s.Turn != "" {
		return false
	}
	w.states.put(n.ID, plan.State{Status: plan.Running, StartedAt: w.Now, Wait: plan.WaitTurn})
	return true
}

// passGates lets a pipeline begin if it has a place at all its gates.
func (h *Handler) passGates(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string) (waits bool, err error) {
	me := store.Holder{Execution: snap.execution.ID, Node: n.ID}
	passed := "passed"
	for _, g := range h.Limits.gates(snap.execution) {
		s.Status = plan.QueuedConcurrency
		s.Message = fmt.Sprintf("max number of concurrent executions reached: %d %s", g.places, g.what)
		waits, err := h.waitIn(ctx, snap, n, s, token, func() (bool, error) { return h.lines.standIn(ctx, g, me, nil) })
		if waits || err != nil {
			return waits, err
		}
		s, passed = snap.state(n.ID), g.key
	}
	return false, h.commit(ctx, snap, []Write{{Node: n.ID, State: plan.State{Status: plan.NotStarted, Turn: passed}}})
}

// leaveGates gives an ended execution's places to the next.
func (h *Handler) leaveGates(ctx context.Context, e store.Execution, root plan.NodeID) error {
	for _, g := range h.Limits.gates(e) {
		if err := h.lines.leave(ctx, e.ID, Left{Node: root, Key: g.key}, g.places); err != nil {
			return err
		}
	}
	return nil
}
