package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// turnCheck is how often a stage that waits for its turn looks whether it has
// come, in case that nobody told it.
const turnCheck = 2 * time.Minute

// exclusive says whether a stage deploys where only one may at a time: one
// stage for each service and infrastructure, in the order of asking, unless
// the infrastructure allows simultaneous deployments (pipeline spec §7.2).
func exclusive(n *plan.Node) bool {
	if n.Kind != plan.KindStage || n.Deployment == nil {
		return false
	}
	const key = "allowSimultaneousDeployments"
	infra := n.Deployment.Infrastructure
	for _, allowed := range []*yamldoc.Node{infra.Get(key), infra.At("spec", key)} {
		if allowed != nil && allowed.Value == "true" {
			return false
		}
	}
	return true
}

// turn makes the machine run of an exclusive stage wait for its turn; false
// when there is nothing to wait for.
func (w *walk) turn(n *plan.Node) bool {
	s := w.get(n.ID)
	at := At{Node: n.ID, Wait: plan.WaitTurn}
	if s.Wait != plan.WaitTurn || s.Status.Terminal() || w.Aborted || w.over(s.Deadline) {
		return false
	}
	if w.Failure != nil && w.After == at {
		s.Status, s.EndedAt = plan.Errored, w.Now
		s.Message = "couldn't wait for its turn: " + w.Failure.Error + ": " + w.Failure.Cause
		w.put(n.ID, s)
		return false
	}
	w.out.Do, w.out.At, w.out.Wake = DoAwait, at, turnCheck
	if !s.Deadline.IsZero() {
		w.out.Wake = min(w.out.Wake, s.Deadline.Sub(w.Now))
	}
	return true
}

// takeTurn queues a stage up and lets it go on if it is the first. Who stands
// before it and has ended, but couldn't say so, is taken out.
func (h *Handler) takeTurn(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string) (waits bool, err error) {
	if s.Turn == "" {
		key, err := h.scope(ctx, snap, n, snap.state).InfrastructureKey()
		if snap.err != nil {
			return false, snap.err
		}
		if err != nil {
			s.Status, s.EndedAt, s.Message = plan.Failed, h.Now(), err.Error()
			return false, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
		}
		s.Turn = snap.execution.Scope.Account + "/" + key
	}
	me := store.Holder{Execution: snap.execution.ID, Node: n.ID}
	queue, err := h.Store.TakeTurn(ctx, s.Turn, me)
	for err == nil && queue[0] != me {
		var gone bool
		if gone, err = h.hasEnded(ctx, queue[0]); !gone || err != nil {
			break
		}
		if queue, err = h.Store.EndTurn(ctx, s.Turn, queue[0]); err == nil && !slices.Contains(queue, me) {
			return false, store.Stale("a queue", 0) // somebody took this stage out: look at it again
		}
	}
	if err != nil {
		return false, err
	}
	if waits = queue[0] != me; waits {
		s.Status, s.Token = plan.ResourceWaiting, token
	} else {
		s.Status, s.Token, s.Wait = plan.Running, "", plan.WaitWork
	}
	return waits, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// hasEnded says whether a holder's stage is over.
func (h *Handler) hasEnded(ctx context.Context, holder store.Holder) (bool, error) {
	e, err := h.Store.Execution(ctx, holder.Execution)
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	if err != nil || e.Status.Terminal() {
		return err == nil, err
	}
	nodes, err := h.Store.Nodes(ctx, holder.Execution, holder.Node)
	return len(nodes) > 0 && nodes[0].State.Status.Terminal(), err
}

// endTurns lets the next in the queues go on, of stages that have ended. What
// is lost between the commit before and this is made up by turnCheck.
func (h *Handler) endTurns(ctx context.Context, execution string, ended []Write) error {
	for _, w := range ended {
		if w.State.Turn == "" || !w.State.Status.Terminal() {
			continue
		}
		queue, err := h.Store.EndTurn(ctx, w.State.Turn, store.Holder{Execution: execution, Node: w.Node})
		if err != nil {
			return err
		}
		if len(queue) == 0 {
			continue
		}
		next, err := h.Store.Nodes(ctx, queue[0].Execution, queue[0].Node)
		if err != nil {
			return err
		}
		if len(next) == 0 || next[0].State.Token == "" {
			continue // it is about to ask by itself
		}
		if err := h.Runner.Succeed(ctx, next[0].State.Token, answered); err != nil && !errors.Is(err, statemachine.ErrGone) {
			return err
		}
	}
	return nil
}
