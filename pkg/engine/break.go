package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// racePause grows with each race that Break has lost, as the longest pause
// before the next.
const racePause = 10 * time.Millisecond

// brokeOff is the message of what Break ends below a node.
const brokeOff = "its stage or pipeline broke off"

// broken answers the node machine's Break: its Advance failed for good.
func (h *Handler) broken(ctx context.Context, c Call) error {
	var e MachineError
	if err := json.Unmarshal(c.Event, &e); err != nil {
		return fmt.Errorf("decode the error: %w", err)
	}
	return h.Break(ctx, c.Execution, c.Node, fmt.Sprintf("the engine couldn't go on: %s: %s", e.Error, e.Cause))
}

// Break ends a node whose machine run can't go on, so that the plan says why:
// the node is Errored, what is under way below it is Aborted and its tasks are
// cancelled. A node that has ended is left as it is; again is no change, but
// cancels what a call that was cut off left.
func (h *Handler) Break(ctx context.Context, execution string, node plan.NodeID, why string) error {
	for n := range maxRaces {
		err := h.breakOnce(ctx, execution, node, why)
		if !fault.Is(err, fault.StaleVersion) {
			return err
		}
		// What is under way below it writes, too.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Duration(n+1) * racePause)): //nolint:gosec // jitter is no secret
		}
	}
	return fmt.Errorf("lost the race for the states below %s %d times", node, maxRaces)
}

func (h *Handler) breakOnce(ctx context.Context, execution string, node plan.NodeID, why string) error {
	snap, err := h.Reader.snapshot(ctx, execution)
	if err != nil {
		return err
	}
	n := snap.plan.Node(node)
	if n == nil {
		return fault.New(fault.NotFound, "the plan has no node %s", node)
	}
	s := snap.state(node)
	if snap.err != nil || s.Status.Terminal() && s.Status != plan.Errored {
		return snap.err
	}
	records, err := h.Store.AllNodes(ctx, execution)
	if err != nil {
		return err
	}
	var ended []store.Node
	var writes []Write
	for _, r := range records {
		if r.ID == node || !below(snap.plan.Node(r.ID), n) {
			continue
		}
		if r.State.Status.Terminal() {
			if r.State.Message == brokeOff {
				ended = append(ended, r)
			}
			continue
		}
		snap.nodes[r.ID] = r
		r.State.Status, r.State.EndedAt, r.State.Message = plan.Aborted, h.Now(), brokeOff
		writes, ended = append(writes, Write{Node: r.ID, State: r.State}), append(ended, r)
	}
	if !s.Status.Terminal() {
		s.Status, s.EndedAt, s.Message = plan.Errored, h.Now(), why
		if err := h.commit(ctx, snap, append(writes, Write{Node: node, State: s})); err != nil {
			return err
		}
		h.Log.ErrorContext(ctx, "engine broke off", "execution", execution, "node", node, "reason", why)
	}
	// They are told when it is written: whoever hears it before goes on, and
	// writes what the commit then meets.
	var errs []error
	for _, r := range ended {
		errs = append(errs, h.interrupt(ctx, r))
	}
	return errors.Join(errs...)
}

// below says whether n stands somewhere below a container.
func below(n, container *plan.Node) bool {
	for ; n != nil; n = n.Parent() {
		if n.ID == container.ID {
			return true
		}
	}
	return false
}
