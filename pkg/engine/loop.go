package engine

import (
	"github.com/slipway-cd/slipway/pkg/plan"
)

// enterLoop starts a loop that is next in its container: its iterations are
// found, once (pipeline spec §6). False when it has ended at once: there are
// none, or they can't be found out.
func (w *walk) enterLoop(n, loop *plan.Node) bool {
	if !w.statusFits(w.get(n.ID), loop.Children[0]) {
		w.skip(loop) // every iteration would be; its expressions may not even resolve
		return false
	}
	if !w.begin(loop, w.get(n.ID)) {
		return false
	}
	s := w.get(loop.ID)
	found, err := w.Loop(loop)
	switch {
	case err != nil:
		s.Status, s.EndedAt, s.Message = plan.Failed, w.Now, err.Error()
	case len(found.List) == 0:
		s.Status, s.EndedAt = plan.Skipped, w.Now
	default:
		s.Iterations = &found
	}
	w.put(loop.ID, s)
	return !s.Status.Terminal()
}

// skip ends a node that doesn't run. Barriers want to know whether that may be
// because of a failure before it.
func (w *walk) skip(n *plan.Node) {
	p := n.Parent()
	w.ended(n.ID, plan.Skipped, "")
	s := w.get(n.ID)
	s.FailedSoFar = p.Kind != plan.KindParallel && p.Kind != plan.KindLoop && w.get(p.ID).FailedSoFar
	w.put(n.ID, s)
}

// loop decides for a loop: each iteration has a machine run of its own, at
// most MaxConcurrency of them at a time, and the loop ends with the last.
func (w *walk) loop(n *plan.Node) {
	s := w.get(n.ID)
	w.out.Do = DoDone
	if s.Status.Terminal() {
		return
	}
	back := w.After == At{Node: n.ID, Wait: waitChildren}
	var open []Run
	ended := s
	for _, c := range w.Plan.Children(n, s) {
		if back && !w.get(c.ID).Status.Terminal() {
			w.lost(c)
		}
		cs := w.get(c.ID)
		if !cs.Status.Terminal() {
			open = append(open, w.runOf(c))
		}
		ended = count(ended, c, cs)
	}
	if len(open) > 0 {
		w.out.Do, w.out.At = DoChildren, At{Node: n.ID, Wait: waitChildren}
		w.out.Children, w.out.MaxConcurrency = open, s.Iterations.MaxConcurrency
		return
	}
	ended.FailedSoFar, ended.IgnoredSoFar = s.FailedSoFar, s.IgnoredSoFar
	ended.Status, ended.EndedAt = w.endStatus(n, ended), w.Now
	w.put(n.ID, ended)
}

// enterIteration starts an iteration whose machine run has begun, which may
// be long after its loop: its condition, its timeout and what has happened
// since count from now. False while it waits to be started.
func (w *walk) enterIteration(loop, n *plan.Node) bool {
	s := w.get(loop.ID)
	switch {
	case w.held(n):
		return false
	case w.Aborted:
		w.ended(n.ID, plan.Aborted, "")
	case w.over(s.Deadline):
		w.ended(n.ID, plan.Expired, "the time of its stage or pipeline was up")
	case w.Plan.FailsAll() && (w.swept(loop) || w.failedAll(loop, s)):
		w.ended(n.ID, plan.Skipped, sweptMessage)
	case loop.Loop.SkipQueued && w.anyBad(loop, s):
		w.ended(n.ID, plan.Skipped, "another iteration failed before this one started")
	default:
		w.enter(loop, n)
	}
	return true
}

// anyBad says whether an iteration has failed.
func (w *walk) anyBad(loop *plan.Node, s plan.State) bool {
	for _, it := range s.Iterations.List {
		if w.get(loop.Iteration(it.Postfix)).Status.Bad() {
			return true
		}
	}
	return false
}
