package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// A barrier (semantics/pipeline §7.1) is open when each of its steps waits at
// it, has passed it, or won't come any more because it, or what it is in,
// ended well without it. It is broken when one failed before it came: then
// those that wait fail too. Whether it is open follows from the states of its
// steps alone, so there is nothing to store and nothing to repair.

// barrierOf is the barrier that a step waits at.
func barrierOf(n *plan.Node) string {
	if name := n.Doc.At("spec", "barrierRef"); name != nil {
		return name.Value
	}
	return ""
}

// barriers lists the steps, of types that wait for each other, of each barrier of a
// plan. Iterations of a loop share the barrier (semantics/pipeline §7.1).
func barriers(p *plan.Plan, types []string, state func(plan.NodeID) plan.State) map[string][]*plan.Node {
	found := map[string][]*plan.Node{}
	for _, n := range stepsOf(p, p.Root, types, state) {
		found[barrierOf(n)] = append(found[barrierOf(n)], n)
	}
	return found
}

// barrier is the outcome of a step that waits at a barrier; nil while it is
// neither open nor broken.
func (d *states) barrier(n *plan.Node) *plan.Outcome {
	name, open := barrierOf(n), true
	for _, other := range barriers(d.plan, d.meets, d.get)[name] {
		if other.ID == n.ID {
			continue
		}
		came, failed := d.came(other)
		if failed != nil {
			return &plan.Outcome{
				Status: plan.Failed, Failures: []fault.FailureType{fault.Unknown},
				Message: fmt.Sprintf("barrier %s: %s won't come after a failure", name, called(failed)),
			}
		}
		open = open && came
	}
	if !open {
		return nil
	}
	return &plan.Outcome{Status: plan.Success}
}

// came says whether a barrier needn't wait for a step, or which node has kept
// it from coming.
func (d *states) came(n *plan.Node) (came bool, failed *plan.Node) {
	s := d.get(n.ID)
	if !s.Status.Terminal() && s.Wait == plan.WaitBarrier {
		return true, nil
	}
	for p := n; p != nil; p = p.Parent() {
		s := d.get(p.ID)
		switch {
		case s.Status.Bad() || s.Status == plan.Skipped && s.FailedSoFar:
			return false, p
		case s.Status.Good():
			return true, nil
		case s.Rollback && !n.InRollback():
			return false, p
		}
	}
	return false, nil
}

// meeting lists what decides about the barrier that a step waits at, as far as
// it hasn't been read: its steps and what they are in.
func (s *snapshot) meeting(id plan.NodeID) []plan.NodeID {
	n := s.plan.Node(id)
	if n == nil || n.Kind != plan.KindStep || !slices.Contains(s.r.meets, n.Type) {
		return nil
	}
	var ids []plan.NodeID
	for _, p := range barriers(s.plan, s.r.meets, s.state)[barrierOf(n)] {
		for ; p != nil; p = p.Parent() {
			if _, read := s.nodes[p.ID]; !read && !slices.Contains(ids, p.ID) {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids
}

// called is a node as messages name it.
func called(n *plan.Node) string {
	stage := n.Stage()
	if stage == nil || stage == n {
		return fmt.Sprintf("%s %s", n.Kind, n.Identifier)
	}
	return fmt.Sprintf("%s %s of stage %s", n.Kind, n.Identifier, stage.Identifier)
}

// passBarrier leaves a step's token at its barrier, or lets it go on at once.
// Whether it may is decided after the token has been stored: who came before
// then couldn't answer it.
func (h *Handler) passBarrier(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string) (waits bool, err error) {
	if s.Token != token {
		s.Token = token
		if err := h.commit(ctx, snap, []Write{{Node: n.ID, State: s}}); err != nil {
			return false, err
		}
	}
	if snap, err = h.Reader.snapshot(ctx, snap.execution.ID); err != nil {
		return false, err
	}
	seen := states{plan: snap.plan, meets: h.Reader.meets, stored: snap.state}
	waits = seen.barrier(snap.plan.Node(n.ID)) == nil
	return waits, snap.err
}

// meet wakes the steps at the barriers that the end of nodes may open or
// break. What is lost between the commit before and this is made up by
// turnCheck.
func (h *Handler) meet(ctx context.Context, snap *snapshot, written []Write) error {
	var failed error
	fresh := func(id plan.NodeID) plan.State { // a loop may have started since the snapshot
		nodes, err := h.Store.Nodes(ctx, snap.execution.ID, id)
		if failed = errors.Join(failed, err); len(nodes) == 0 {
			return plan.State{}
		}
		return nodes[0].State
	}
	all := barriers(snap.plan, h.Reader.meets, fresh)
	if failed != nil {
		return failed
	}
	for _, steps := range all {
		if !concerns(snap.plan, steps, written) {
			continue
		}
		var ids []plan.NodeID
		for _, n := range steps {
			ids = append(ids, n.ID)
		}
		nodes, err := h.Store.Nodes(ctx, snap.execution.ID, ids...)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.State.Wait != plan.WaitBarrier || n.State.Token == "" || n.State.Status.Terminal() {
				continue
			}
			if err := h.waiting.ask(ctx, n.State.Token, "its barrier has changed"); err != nil {
				return err
			}
		}
	}
	return nil
}

// concerns says whether one of the nodes that were written has ended, or
// turned back, and is one of the steps or has one below it.
func concerns(p *plan.Plan, steps []*plan.Node, written []Write) bool {
	for _, w := range written {
		if s := w.State; !s.Status.Terminal() && (!s.Rollback || s.Cursor > 0) {
			continue
		}
		for _, n := range steps {
			if below(n, p.Node(w.Node)) {
				return true
			}
		}
	}
	return false
}
