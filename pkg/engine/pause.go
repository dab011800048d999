package engine

import (
	"context"
	"errors"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// held makes a machine run wait before it starts something new, while a
// person has paused the execution. What runs goes on, and so do the clocks of
// timeouts (semantics/pipeline §5.6). False when there is nothing to wait for.
func (w *walk) held(n *plan.Node) bool {
	s := w.states.get(n.ID)
	waiting, status := plan.Paused, plan.Running
	if n.Parent() != nil && n.Parent().Kind == plan.KindLoop && (s.Wait == plan.WaitPause || notStarted(s.Status)) && s.StartedAt.IsZero() {
		waiting, status = plan.NotStarted, plan.NotStarted // an iteration that has yet to start
	}
	if !w.Paused || w.Aborted || w.over(s.Deadline) {
		if s.Wait == plan.WaitPause {
			s.Wait, s.Status, s.Token = plan.WaitWork, status, ""
			w.states.put(n.ID, s)
		}
		return false
	}
	if s.Wait != plan.WaitPause {
		s.Wait, s.Status, s.Token = plan.WaitPause, waiting, ""
		w.states.put(n.ID, s)
	}
	w.hold(At{Node: n.ID, Attempt: s.Attempt, Wait: plan.WaitPause, Look: s.Look}, s)
	return true
}

// Pause stops an execution from starting anything new; again is no change.
func (h *Handler) Pause(ctx context.Context, id string, a audit.Record) (store.Execution, error) {
	return h.Store.SetInterrupt(ctx, id, store.InterruptPause, a)
}

// Resume lets a paused execution go on; again is no change, but wakes what an
// earlier one that was cut short hasn't.
func (h *Handler) Resume(ctx context.Context, id string, a audit.Record) (store.Execution, error) {
	return h.interruptWith(ctx, id, store.InterruptNone, a, func(n store.Node) error {
		token := n.State.Left // of one whose end was cut short
		if n.State.Wait == plan.WaitPause {
			token = n.State.Token
		}
		if token == "" {
			return nil
		}
		return h.waiting.ask(ctx, token, "its execution was resumed")
	})
}

// interruptWith sets an interrupt and tells every node of it, also those that
// an earlier call which was cut short has told.
func (h *Handler) interruptWith(ctx context.Context, id string, i store.Interrupt, a audit.Record, tell func(store.Node) error) (store.Execution, error) {
	e, err := h.Store.SetInterrupt(ctx, id, i, a)
	if err != nil {
		return store.Execution{}, err
	}
	nodes, err := h.Store.AllNodes(ctx, id)
	if err != nil {
		return store.Execution{}, err
	}
	var errs []error
	for _, n := range nodes {
		errs = append(errs, tell(n))
	}
	return e, errors.Join(errs...)
}
