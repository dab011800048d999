package engine

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Abort ends an execution (semantics/pipeline §5.6): no new nodes, running
// tasks are cancelled, every wait is answered, nothing is rolled back. It is
// idempotent; repeating it continues one that was cut short.
func (h *Handler) Abort(ctx context.Context, id string, a audit.Record) (store.Execution, error) {
	return h.interruptWith(ctx, id, store.InterruptAbort, a, func(n store.Node) error {
		if err := h.interruptLeft(ctx, n); err != nil {
			return err
		}
		if n.State.Status.Terminal() || n.State.Attempt == 0 && n.State.Wait == plan.WaitWork {
			return nil
		}
		return h.interrupt(ctx, n)
	})
}

// abort is Abort by the engine itself.
func (h *Handler) abort(ctx context.Context, id, why string) error {
	e, err := h.Store.Execution(ctx, id)
	if err != nil {
		return err
	}
	_, err = h.Abort(ctx, id, audit.Record{
		Time: h.Now(), Actor: "slipway", Scope: e.Scope, Action: audit.Abort, Kind: "execution", ID: id, After: why,
	})
	return err
}

// interrupt cancels what a step waits for and ends the wait.
func (h *Handler) interrupt(ctx context.Context, n store.Node) error {
	token := n.State.Token
	if n.State.Wait == plan.WaitChild {
		if err := h.stopChild(ctx, n.State.Child); err != nil {
			return fmt.Errorf("abort the execution that %s waits for: %w", n.ID, err)
		}
	}
	if n.State.Wait == plan.WaitWork && token == "" {
		t, err := h.cancel(ctx, TaskID(n.Execution, n.ID, n.State.Attempt, n.State.Look))
		if err != nil {
			return fmt.Errorf("cancel the task of %s: %w", n.ID, err)
		}
		token = t.Token
	}
	if token == "" {
		return nil // its Await is about to see the interrupt by itself
	}
	return h.waiting.fail(ctx, n, token)
}

// interruptLeft ends the wait that a node was decided on, if nobody has come to
// say so.
func (h *Handler) interruptLeft(ctx context.Context, n store.Node) error {
	if n.State.Left == "" {
		return nil
	}
	return h.waiting.fail(ctx, n, n.State.Left)
}

// fail ends a node's wait because its execution is aborted.
func (w waiting) fail(ctx context.Context, n store.Node, kept string) error {
	token, _, _ := cutToken(kept)
	if err := told(w.runner.Fail(ctx, token, Interrupted, "the execution was aborted")); err != nil {
		return fmt.Errorf("end the wait of %s: %w", n.ID, err)
	}
	return nil
}
