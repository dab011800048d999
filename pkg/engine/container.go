package engine

import (
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// sequence decides for a pipeline, a stage or a step group: its children run
// one after the other, then, if a child asked for it, a stage's rollbackSteps.
func (w *walk) sequence(n *plan.Node) {
	if w.states.get(n.ID).Status == plan.NotStarted || w.states.get(n.ID).Status == "" {
		w.begin(n, plan.State{})
	}
	if w.asking(n) {
		return
	}
	if w.choose(n); w.turn(n) {
		return
	}
	w.undoes(n)
	if s := w.states.get(n.ID); w.After == (At{Node: n.ID, Wait: waitChildren}) && !s.Status.Terminal() {
		w.lost(n) // the run in which it went on
	}
	for !w.states.get(n.ID).Status.Terminal() {
		if w.between(n) {
			return
		}
		s := w.states.get(n.ID)
		list := w.states.section(n, s)
		if s.Cursor >= len(list) || w.stops(n, s, list[s.Cursor]) {
			w.endSection(n)
			continue
		}
		if w.states.provisioned(n, s) {
			if w.turn(n) {
				return
			}
			continue
		}
		between := notStarted(w.states.get(list[s.Cursor].ID).Status) || w.After.Wait == plan.WaitLook
		if part := partOf(n, s); part > w.Part && between {
			w.out.Do, w.out.At = DoChildren, At{Node: n.ID, Wait: waitChildren}
			w.out.Children = []Run{{Node: n.ID, Part: part}}
			return
		}
		c := list[s.Cursor]
		back := s.Rollback && !c.InRollback()
		if (back || notStarted(w.states.get(c.ID).Status)) && w.held(n) {
			return
		}
		if back {
			if !w.undo(n, c) {
				return
			}
			w.undid(n, c)
			continue
		}
		if !w.child(n, c) {
			return // the machine run waits for the child
		}
		w.states.absorb(n, c)
	}
	w.out.Do = DoDone
}

// partSize is how many children of a sequence one machine run drives. A child
// costs it at most 25 history events, most a quarter of that, more where it is
// tried again, and Step Functions ends a run at 25,000. To look again costs as much as a child.
const partSize = 200

// partOf is the part in which a node's next child belongs. Machine runs in
// which it is undone, or begun again, have numbers of their own.
func partOf(n *plan.Node, s plan.State) int {
	done := s.Cursor + s.Look
	if s.Rollback {
		done += len(n.Children)
	}
	part := done/partSize + s.Try*10_000
	if s.Forward != "" {
		part += 1000
	}
	return part
}

// stops says whether the section ends before a child that hasn't started:
// the execution is aborted, the time is up, an earlier child asked to roll
// back, or another member's failure fails all. A child that is under way is
// always seen to its end.
func (w *walk) stops(n *plan.Node, s plan.State, next *plan.Node) bool {
	if !notStarted(w.states.get(next.ID).Status) {
		return false
	}
	return w.Aborted || s.Worst == plan.Aborted || !s.Rollback && s.Worst == plan.AbortedByFreeze || s.Unwind.Action != "" || w.over(s.Deadline) ||
		!s.Rollback && w.states.swept(n)
}

func notStarted(s plan.Status) bool { return s == "" || s == plan.NotStarted }

func (w *walk) over(deadline time.Time) bool {
	return !deadline.IsZero() && !w.Now.Before(deadline)
}

// child moves one child of a sequence on; true when it has ended.
func (w *walk) child(n, c *plan.Node) bool {
	cs := w.states.get(c.ID)
	if notStarted(cs.Status) && !w.enter(n, c) {
		return true // skipped, or failed before it began
	}
	if w.states.get(c.ID).Status.Terminal() {
		return true
	}
	if c.Kind == plan.KindStep {
		return w.step(c)
	}
	if w.After.Node == c.ID && w.After.Wait == waitChildren {
		w.lost(c)
		return true
	}
	w.fanOut(c)
	return false
}

// fanOut makes the machine run start runs for children and wait for them.
func (w *walk) fanOut(children ...*plan.Node) {
	w.out.Do = DoChildren
	w.out.At = At{Node: children[0].ID, Wait: waitChildren}
	for _, c := range children {
		w.out.Children = append(w.out.Children, w.states.runOf(c))
	}
}

// runOf is the machine run that a child gets.
func (d *states) runOf(c *plan.Node) Run {
	return Run{Node: c.ID, Part: partOf(c, d.get(c.ID))}
}

// lost ends a child whose machine run has ended without saying how.
func (w *walk) lost(c *plan.Node) {
	s := w.states.get(c.ID)
	s.Status, s.EndedAt = plan.Errored, w.Now
	s.Message = "its state machine ended before it did"
	w.states.put(c.ID, s)
}

// enter decides whether a child that is next runs, and starts it. False when
// it has ended at once: skipped, or its condition can't be evaluated. A step
// begins then too: its attempt fails, so that its strategies apply.
func (w *walk) enter(n, c *plan.Node) bool {
	if c.Kind == plan.KindLoop {
		return w.enterLoop(n, c)
	}
	run, err := w.when(n, c)
	s := w.states.fresh(c.ID)
	switch {
	case err != nil && c.Kind == plan.KindStep:
		s.Undecided = true
	case err != nil:
		s.StartedAt = w.Now
		w.states.put(c.ID, w.undecided(c, s, err))
		return false
	case !run:
		w.skip(c)
		return false
	}
	if c.Kind == plan.KindStep {
		w.beginAttempt(c, s)
		return true
	}
	return w.begin(c, w.states.get(n.ID))
}

// begin starts a container below a parent in the given state (the zero State
// for the pipeline). False if its timeout can't be evaluated.
func (w *walk) begin(n *plan.Node, parent plan.State) bool {
	s := w.states.fresh(n.ID)
	if w.gated(n, s) {
		return true
	}
	s.Status, s.StartedAt, s.Deadline = plan.Running, w.Now, parent.Deadline
	if exclusive(n, s) && len(n.Provisioning()) == 0 {
		s.Wait = plan.WaitTurn
	}
	if (n.Asks != "" || n.Manual != "") && !s.Answered {
		s.Status, s.Wait = plan.InputWaiting, plan.WaitInput
	}
	if n.Kind != plan.KindStage {
		s.FailedSoFar, s.IgnoredSoFar = parent.FailedSoFar, parent.IgnoredSoFar
	}
	s = w.timed(n, s)
	if n.Kind == plan.KindStage && s.Wait != plan.WaitInput {
		s = admission{w}.admitted(n, s)
	}
	w.states.put(n.ID, s)
	return !s.Status.Terminal()
}

// timed gives a container that begins its deadline, and one that waits for
// somebody to run it the end of that wait: its own time begins when it is run.
// If they can't be evaluated, it fails by its strategy.
func (w *walk) timed(n *plan.Node, s plan.State) plan.State {
	evaluate := w.Timeout
	manual := n.Manual != "" && s.Wait == plan.WaitInput
	if manual {
		evaluate = w.Patience
	}
	timeout, err := evaluate(n, w.states.get)
	switch end := w.Now.Add(timeout); {
	case err != nil:
		return w.undecided(n, s, err)
	case manual:
		s.Until = end
	case timeout > 0 && (s.Deadline.IsZero() || end.Before(s.Deadline)):
		s.Deadline = end
	}
	return s
}

// absorb counts an ended child into its container and moves on.
func (d *states) absorb(n, c *plan.Node) {
	s, cs := d.get(n.ID), d.get(c.ID)
	s.Cursor++
	d.put(n.ID, count(s, c, cs))
}

// count adds a child's end to its container's (semantics/pipeline §8.2).
func count(s plan.State, c *plan.Node, cs plan.State) plan.State {
	if cs.Status.Worse(s.Worst) {
		s.Worst = cs.Status
		s.Message = describe(c, cs)
	}
	s.FailedSoFar = s.FailedSoFar || cs.Status.Bad()
	s.IgnoredSoFar = s.IgnoredSoFar || cs.Status == plan.IgnoreFailed
	if cs.Unwind.Stronger(s.Unwind) {
		s.Unwind = cs.Unwind
	}
	return s
}

// describe is a child's failure as its container tells it.
func describe(c *plan.Node, cs plan.State) string {
	switch {
	case cs.Message == "":
		return ""
	case c.Kind == plan.KindParallel || c.Kind == plan.KindLoop:
		return cs.Message
	case c.Kind == plan.KindStep:
		return fmt.Sprintf("step %s: %s", c.Identifier, cs.Message)
	case c.Kind == plan.KindStage:
		return fmt.Sprintf("stage %s: %s", c.Identifier, cs.Message)
	}
	return cs.Message
}

// endSection ends a container, or does what a step below asked it for.
func (w *walk) endSection(n *plan.Node) {
	s := w.states.get(n.ID)
	if !s.Rollback && !w.Aborted && s.Worst != plan.Aborted {
		if n.Kind == plan.KindStage {
			s = w.leaveForward(n, s)
		}
		switch {
		case !answers(n, s.Unwind):
		case s.Unwind.Action == plan.RetryStepGroup && !w.over(s.Deadline):
			w.again(n, s)
			return
		case s.Unwind.Action != plan.RetryStepGroup:
			w.states.put(n.ID, w.states.turnBack(n, s))
			return
		}
	}
	switch {
	case s.Rollback:
		s.Unwind = plan.Unwind{} // what fails in a rollback leads to no other
	case s.Cursor < len(n.Children) && s.Message == "" && w.states.swept(n):
		s.Message = sweptMessage
	}
	s.Status, s.EndedAt = w.endStatus(n, s), w.Now
	w.states.put(n.ID, s)
}

// endStatus is how a container ends none of whose children is under way.
func (w *walk) endStatus(n *plan.Node, s plan.State) plan.Status {
	switch {
	case w.Aborted:
		return plan.Aborted
	case s.Forward != "" && !s.Worst.Bad():
		return s.Forward // it was undone because of another
	case s.Rollback && s.Worst != plan.Aborted:
		return plan.Failed // semantics/pipeline §5.4: what rolled back is Failed
	case s.Worst.Bad() || s.Worst == plan.IgnoreFailed:
		return s.Worst
	case n.Kind == plan.KindParallel || n.Kind == plan.KindLoop || s.Cursor >= len(n.Children):
		return plan.Success
	case w.states.swept(n):
		return plan.Failed
	}
	return plan.Expired // it was the time that ended it
}

// parentID is the id of a node's container; empty for the pipeline.
func parentID(n *plan.Node) plan.NodeID {
	if p := n.Parent(); p != nil {
		return p.ID
	}
	return ""
}

// parallel decides for a parallel block: the members start together, each in
// a machine run of its own, and the block ends when all have ended.
func (w *walk) parallel(n *plan.Node) {
	s := w.states.get(n.ID)
	if s.Status.Terminal() {
		w.out.Do = DoDone
		return
	}
	var open []*plan.Node
	for _, c := range n.Children {
		if w.member(n, s, c) {
			open = append(open, c)
		}
	}
	if len(open) > 0 {
		w.fanOut(open...)
		w.out.At.Node = n.ID
		return
	}
	before := s
	for _, c := range n.Children {
		s = count(s, c, w.states.get(c.ID))
	}
	s.FailedSoFar, s.IgnoredSoFar = before.FailedSoFar, before.IgnoredSoFar
	s.Status, s.EndedAt = w.endStatus(n, s), w.Now
	w.states.put(n.ID, s)
	w.out.Do = DoDone
}

// member moves one member of a parallel block on; true while it is under way.
func (w *walk) member(n *plan.Node, s plan.State, c *plan.Node) bool {
	if notStarted(w.states.get(c.ID).Status) {
		if w.Aborted || w.over(s.Deadline) {
			w.ended(c.ID, plan.Aborted, "")
			return false
		}
		return w.enter(n, c) // conditions see the state at the block's start
	}
	if w.states.get(c.ID).Status.Terminal() {
		return false
	}
	if w.After.Node == n.ID && w.After.Wait == waitChildren {
		w.lost(c)
		return false
	}
	return true
}
