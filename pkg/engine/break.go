package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// racePause grows with each race that Break has lost, as the longest pause
// before the next.
const racePause = 10 * time.Millisecond

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
// cancelled. A node that has ended is left as it is; again is no change.
func (h *Handler) Break(ctx context.Context, execution string, node plan.NodeID, why string) error {
	for n := range maxRaces {
		err := h.breakOnce(ctx, execution, node, why)
		if !fault.Is(err, fault.StaleVersion) {
			return err
		}
		// What it ends is told so, and those who hear it write, too.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Duration(n+1) * racePause)): //nolint:gosec // jitter is no secret
		}
	}
	return fmt.Errorf("lost the race for the states below %s %d times", node, maxRaces)
}

func (h *Handler) breakOnce(ctx context.Context, execution string, node plan.NodeID, why string) error {
	snap, err := h.snapshot(ctx, execution)
	if err != nil {
		return err
	}
	n := snap.plan.Node(node)
	if n == nil {
		return fault.New(fault.NotFound, "the plan has no node %s", node)
	}
	s := snap.state(node)
	if snap.err != nil || s.Status.Terminal() {
		return snap.err
	}
	records, err := h.Store.AllNodes(ctx, execution)
	if err != nil {
		return err
	}
	var writes []Write
	for _, r := range records {
		if r.ID == node || r.State.Status.Terminal() || !below(snap.plan.Node(r.ID), n) {
			continue
		}
		if err := h.interrupt(ctx, r); err != nil {
			return err
		}
		snap.nodes[r.ID] = r
		r.State.Status, r.State.EndedAt, r.State.Message = plan.Aborted, h.Now(), "its stage or pipeline broke off"
		writes = append(writes, Write{Node: r.ID, State: r.State})
	}
	s.Status, s.EndedAt, s.Message = plan.Errored, h.Now(), why
	h.Log.ErrorContext(ctx, "engine broke off", "execution", execution, "node", node, "reason", why)
	return h.commit(ctx, snap, append(writes, Write{Node: node, State: s}))
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
