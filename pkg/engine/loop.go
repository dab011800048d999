package engine

import (
	"github.com/slipway-cd/slipway/pkg/plan"
)

// enterLoop starts a loop that is next in its container: its iterations are
// found, once (semantics/pipeline §6). False when it has ended at once: there
// are none, or they can't be found out.
func (w *walk) enterLoop(n, loop *plan.Node) bool {
	if !statusFits(w.states.get(n.ID), loop.Children[0]) {
		w.skip(loop) // every iteration would be; its expressions may not even resolve
		return false
	}
	if !w.begin(loop, w.states.get(n.ID)) {
		return false
	}
	s := w.states.get(loop.ID)
	found, err := w.Loop(loop, w.states.get)
	switch {
	case err != nil:
		s = w.undecided(loop, s, err)
	case len(found.List) == 0:
		s.Status, s.EndedAt = plan.Skipped, w.Now
	default:
		s.Iterations = &found
		if s = (admission{w}).admitted(loop, s); s.Status.Terminal() {
			s.Iterations = nil // none of them begins
		}
	}
	w.states.put(loop.ID, s)
	return !s.Status.Terminal()
}

// skip ends a node that doesn't run. Barriers want to know whether that may be
// because of a failure before it.
func (w *walk) skip(n *plan.Node) {
	p := n.Parent()
	w.ended(n.ID, plan.Skipped, "")
	s := w.states.get(n.ID)
	s.FailedSoFar = p.Kind != plan.KindParallel && p.Kind != plan.KindLoop && w.states.get(p.ID).FailedSoFar
	w.states.put(n.ID, s)
}

// loop decides for a loop: each iteration has a machine run of its own, at
// most MaxConcurrency of them at a time, one wave after the other, and the
// loop ends with the last.
func (w *walk) loop(n *plan.Node) {
	s := w.states.get(n.ID)
	w.out.Do = DoDone
	if s.Status.Terminal() {
		return
	}
	for children := w.Plan.Children(n, s); ; s.Wave++ {
		at := At{Node: n.ID, Wait: waitChildren, Look: s.Wave}
		open, more := w.wave(s, children, w.After == at)
		if len(open) > 0 {
			if s.Wave != w.states.get(n.ID).Wave {
				w.states.put(n.ID, s)
			}
			w.out.Do, w.out.At = DoChildren, at
			w.out.Children, w.out.MaxConcurrency = open, s.Iterations.MaxConcurrency
			return
		}
		if !more {
			break
		}
	}
	ended := s
	for _, c := range w.Plan.Children(n, s) {
		ended = count(ended, c, w.states.get(c.ID))
	}
	ended.FailedSoFar, ended.IgnoredSoFar = s.FailedSoFar, s.IgnoredSoFar
	ended.Status, ended.EndedAt = w.endStatus(n, ended), w.Now
	w.states.put(n.ID, ended)
}

// wave lists the machine runs of a loop's present wave that haven't ended, and
// says whether there are later waves. Back from them, those without an end are
// lost. Where nothing begins any more, iterations that haven't get none.
func (w *walk) wave(s plan.State, children []*plan.Node, back bool) (open []Run, more bool) {
	for i, c := range children {
		if wave := s.Iterations.List[i].Wave; wave != s.Wave {
			more = more || wave > s.Wave
			continue
		}
		switch status := w.states.get(c.ID).Status; {
		case back && !status.Terminal():
			w.lost(c)
		case notStarted(status) && w.Aborted:
			w.ended(c.ID, plan.Aborted, "")
		}
		if !w.states.get(c.ID).Status.Terminal() {
			open = append(open, w.states.runOf(c))
		}
	}
	return open, more
}

// enterIteration starts an iteration whose machine run has begun, which may
// be long after its loop: its condition, its timeout and what has happened
// since count from now. False while it waits to be started.
func (w *walk) enterIteration(loop, n *plan.Node) bool {
	s := w.states.get(loop.ID)
	switch {
	case w.held(n):
		return false
	case w.Aborted:
		w.ended(n.ID, plan.Aborted, "")
	case w.over(s.Deadline):
		w.ended(n.ID, plan.Expired, "the time of its stage or pipeline was up")
	case w.Plan.FailsAll() && (w.states.swept(loop) || w.states.failedAll(loop, s)):
		w.ended(n.ID, plan.Skipped, sweptMessage)
	case loop.Loop.SkipQueued && w.states.anyBad(loop, s):
		w.ended(n.ID, plan.Skipped, "another iteration failed before this one started")
	case s.Iterations.Lined && w.states.failedBefore(loop, s, n):
		w.ended(n.ID, plan.Skipped, "another service has failed on the same infrastructure before")
	default:
		w.enter(loop, n)
	}
	return true
}

// failedBefore says whether an earlier iteration has failed that deployed to
// the same infrastructure.
func (d *states) failedBefore(loop *plan.Node, s plan.State, n *plan.Node) bool {
	mine := s.Iterations.Of(n.Postfix())
	for _, it := range s.Iterations.List {
		if it.Wave < mine.Wave && it.Choice.SamePlace(mine.Choice) && d.get(loop.Iteration(it.Postfix)).Status.Bad() {
			return true
		}
	}
	return false
}

// anyBad says whether an iteration has failed.
func (d *states) anyBad(loop *plan.Node, s plan.State) bool {
	for _, it := range s.Iterations.List {
		if d.get(loop.Iteration(it.Postfix)).Status.Bad() {
			return true
		}
	}
	return false
}
