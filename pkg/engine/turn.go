package engine

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// turnCheck is how often what waits for its turn looks whether it has come, in
// case that nobody told it: every two minutes, and more seldom the longer it
// has waited. In 35 days, the longest timeout, these are less than 200 times;
// each is written to the history of a machine run, which has an end.
func turnCheck(waited time.Duration) time.Duration {
	return max(2*time.Minute, waited/16)
}

// exclusive says whether a stage in the given state deploys where only one may
// at a time: in the order of asking.
func exclusive(n *plan.Node, s plan.State) bool {
	return n.Kind == plan.KindStage && !n.Looks && n.Deploys(s).Exclusive()
}

// turn makes the machine run of an exclusive stage wait for its turn; false
// when there is nothing to wait for.
func (w *walk) turn(n *plan.Node) bool {
	s := w.states.get(n.ID)
	at := At{Node: n.ID, Wait: plan.WaitTurn}
	if s.Wait != plan.WaitTurn || s.Status.Terminal() || w.Aborted || w.over(s.Deadline) {
		return false
	}
	if o := s.Outcome; o != nil { // what it waits for can't be found out
		s.Outcome = nil
		w.states.put(n.ID, w.unplaced(n, s, *o))
		return false
	}
	if w.Failure != nil && w.After == at {
		s.Status, s.EndedAt = plan.Errored, w.Now
		s.Message = "couldn't wait for its turn: " + w.Failure.Error + ": " + w.Failure.Cause
		w.states.put(n.ID, s)
		return false
	}
	w.hold(at, s)
	return true
}

// provisioned has a stage whose provisioner section has ended wait for its turn:
// where it deploys to, and so in which queue it stands, is known now. A
// stage that something has failed in deploys nothing any more.
func (d *states) provisioned(n *plan.Node, s plan.State) bool {
	made := len(n.Provisioning())
	if made == 0 || s.Rollback || s.Cursor != made || s.Turn != "" || s.FailedSoFar || !exclusive(n, s) {
		return false
	}
	s.Wait = plan.WaitTurn
	d.put(n.ID, s)
	return true
}

// unplaced ends a stage of which it can't be found out where it deploys to. What
// its provisioner section has made is undone, if its strategy says so.
func (w *walk) unplaced(n *plan.Node, s plan.State, o plan.Outcome) plan.State {
	action, _ := choose(n.Strategies, o.Failures)
	for action.Then != nil {
		action = *action.Then
	}
	if action.Type != plan.StageRollback || !w.states.begun(n.Provisioning()) {
		return w.unbegun(n, s, o, true)
	}
	s.Status, s.Wait, s.Token = plan.Running, plan.WaitWork, ""
	s.Worst, s.Message, s.FailedSoFar, s.Unwind = o.Status, o.Message, true, unwinding(action)
	return s
}

// hold makes a container's machine run wait until somebody answers, or its
// time is up; it looks by itself now and then whether it has been forgotten.
func (w *walk) hold(at At, s plan.State) {
	w.out.Do, w.out.At, w.out.Wake = DoAwait, at, turnCheck(w.Now.Sub(s.StartedAt))
	if !s.Deadline.IsZero() {
		w.out.Wake = min(w.out.Wake, s.Deadline.Sub(w.Now))
	}
}

// takeTurn queues a stage up and lets it go on if it is the first. Who stands
// before it and has ended, but couldn't say so, is taken out. A stage whose
// queue can't be found out fails by its strategy.
func (h *Handler) takeTurn(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string) (waits bool, err error) {
	if s.Turn == "" {
		key, err := h.Reader.scope(ctx, snap, n, snap.state).InfrastructureKey()
		if snap.err != nil {
			return false, snap.err
		}
		if err != nil {
			o := failed(err)
			s.Outcome = &o
			return false, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
		}
		s.Turn = snap.execution.Scope.Account + "/" + key
	}
	me := store.Holder{Execution: snap.execution.ID, Node: n.ID}
	s.Status = plan.ResourceWaiting
	waits, err = h.waitIn(ctx, snap, n, s, token, func() (bool, error) { return h.lines.standIn(ctx, gate{key: s.Turn, places: 1}, me, nil) })
	if waits || err != nil {
		return waits, err
	}
	s.Status, s.Token, s.Wait = plan.Running, "", plan.WaitWork
	return false, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// waitIn asks whether it is a node's turn and, if it isn't, stores the node
// with the token and asks again: who left the queue before the token was
// stored couldn't answer it.
func (h *Handler) waitIn(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string, mine func() (bool, error)) (waits bool, err error) {
	turn, err := mine()
	if err != nil || turn {
		return false, err
	}
	s.Token = token
	if err := h.commit(ctx, snap, []Write{{Node: n.ID, State: s}}); err != nil {
		return false, err
	}
	turn, err = mine()
	return !turn, err
}

// lines are the queues in which nodes stand until it is their turn.
type lines struct {
	turns      store.Turns
	executions store.Executions
	plans      *plans
	waiting    waiting
}

// maxOver bounds how many of those before it a node looks at, to see whether
// they are over; the oldest stand first.
const maxOver = 10

// standIn puts a node at the end of a queue, unless it stands in it, and says
// whether it is its turn: it has one of the places, or it may use another's.
// Those before it who are over, but couldn't say so, are taken out.
func (q lines) standIn(ctx context.Context, g gate, me store.Holder, shares func(store.Holder) bool) (bool, error) {
	queue, err := q.turns.TakeTurn(ctx, g.key, me)
	if err != nil {
		return false, err
	}
	mine := func() bool {
		at := slices.Index(queue, me)
		return at >= 0 && at < g.places || shares != nil && shares(queue[0])
	}
	for at := 0; !mine() && at < min(g.places, maxOver); {
		gone, err := q.hasEnded(ctx, g.key, queue[at])
		if err != nil {
			return false, err
		}
		if !gone {
			at++
			continue
		}
		if queue, err = q.turns.EndTurn(ctx, g.key, queue[at]); err != nil {
			return false, err
		}
		if !slices.Contains(queue, me) {
			return false, store.Stale("a queue", 0) // somebody took this node out: look at it again
		}
	}
	return mine(), nil
}

// hasEnded says whether a holder is over: the stage that holds, or the stage
// or pipeline for which a step does.
func (q lines) hasEnded(ctx context.Context, key string, holder store.Holder) (bool, error) {
	e, err := q.executions.Execution(ctx, holder.Execution)
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	if err != nil || e.Status.Terminal() {
		return err == nil, err
	}
	p, err := q.plans.read(ctx, e.PlanHash)
	if err != nil {
		return false, err
	}
	n := p.Node(holder.Node)
	if n == nil {
		return true, nil
	}
	nodes, err := q.executions.Nodes(ctx, holder.Execution, n.ID, holds(n).ID)
	for _, r := range nodes {
		if r.ID == holds(n).ID && r.State.Status.Terminal() || r.ID == n.ID && r.State.Turn != key && n.Kind == plan.KindStep {
			return true, err
		}
	}
	return false, err
}

// endTurns lets the next in the queues go on, of stages and pipelines that
// have ended. What is lost between the commit before and this is made up by
// turnCheck.
func (h *Handler) endTurns(ctx context.Context, snap *snapshot, ended []Write) error {
	for _, w := range ended {
		if !w.State.Status.Terminal() {
			continue
		}
		if w.Node == snap.plan.Root.ID {
			if err := h.leaveGates(ctx, snap.execution, w.Node); err != nil {
				return err
			}
		}
		if n := snap.plan.Node(w.Node); n.Kind == plan.KindStage && w.State.Turn != "" {
			if err := h.lines.leave(ctx, snap.execution.ID, Left{Node: w.Node, Key: w.State.Turn}, 1); err != nil {
				return err
			}
		}
		for _, q := range queues(snap.plan, snap.plan.Node(w.Node), h.Reader.holds, snap.state) {
			s := snap.state(q.ID)
			if snap.err != nil {
				return snap.err
			}
			if s.Turn == "" {
				continue
			}
			if err := h.lines.leave(ctx, snap.execution.ID, Left{Node: q.ID, Key: s.Turn}, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Left is a queue and the node that leaves it.
type Left struct {
	Node plan.NodeID
	Key  string
}

// leave takes a node out of a queue with so many places and wakes whose turn
// it is now.
func (q lines) leave(ctx context.Context, execution string, l Left, places int) error {
	queue, err := q.turns.EndTurn(ctx, l.Key, store.Holder{Execution: execution, Node: l.Node})
	if err != nil {
		return err
	}
	if len(queue) < places {
		return nil // nobody waits
	}
	queue = queue[places-1:]
	for _, next := range queue {
		if next.Execution != queue[0].Execution {
			continue // several nodes of one execution may hold together
		}
		nodes, err := q.executions.Nodes(ctx, next.Execution, next.Node)
		if err != nil {
			return err
		}
		if len(nodes) == 0 || nodes[0].State.Token == "" || nodes[0].State.Wait != plan.WaitTurn {
			continue // it is about to ask by itself, or has its turn
		}
		if err := q.waiting.ask(ctx, nodes[0].State.Token, "it may be its turn"); err != nil {
			return err
		}
	}
	return nil
}
