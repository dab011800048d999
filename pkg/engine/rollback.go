package engine

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// What a failed step may ask of the containers around it
// (semantics/pipeline §5.4): its group or its stage turns back to its
// rollbackSteps, its pipeline undoes its stages in reverse, or its group
// begins again.

// answers says whether a container is the one that an unwinding is for.
func answers(n *plan.Node, u plan.Unwind) bool {
	switch u.Action {
	case plan.PipelineRollback:
		return n.Kind == plan.KindPipeline
	case plan.StageRollback:
		return n.Kind == plan.KindStage
	case plan.StepGroupRollback, plan.RetryStepGroup:
		return n.Kind == plan.KindGroup && groupDepth(n) == u.Depth
	case plan.Ignore, plan.MarkAsSuccess, plan.MarkAsFailure, plan.Abort, plan.Retry, plan.ManualIntervention,
		plan.ProceedWithDefaultValues:
	}
	return false
}

// groupDepth counts the groups around a node, itself included.
func groupDepth(n *plan.Node) int {
	depth := 0
	for ; n != nil && n.Kind != plan.KindStage; n = n.Parent() {
		if n.Kind == plan.KindGroup {
			depth++
		}
	}
	return depth
}

// section is what a sequence runs: its children or, once it has turned back,
// what undoes them. Groups with rollbackSteps of their own are undone before
// their stage's rollbackSteps run.
func (d *states) section(n *plan.Node, s plan.State) []*plan.Node {
	switch {
	case !s.Rollback:
		return n.Children
	case n.Kind == plan.KindGroup:
		return n.Rollback
	case n.Kind == plan.KindStage:
		return d.undoing(n)
	}
	var list []*plan.Node
	for _, c := range slices.Backward(n.Children) {
		if n.Kind == plan.KindPipeline || holdsRollback(c) {
			list = append(list, c)
		}
	}
	return list
}

// undoing is what a stage's rollback runs. Of one with a provisioner section it
// is first what undoes the stage's execution, and then what undoes that section;
// what has never begun has nothing to undo.
func (d *states) undoing(n *plan.Node) []*plan.Node {
	made := n.Provisioning()
	var list []*plan.Node
	undo := func(forth []*plan.Node, provisions bool) {
		if len(made) > 0 && !d.begun(forth) {
			return
		}
		for _, c := range slices.Backward(forth) {
			if holdsRollback(c) {
				list = append(list, c)
			}
		}
		for _, c := range n.Rollback {
			if c.Provisions == provisions {
				list = append(list, c)
			}
		}
	}
	undo(n.Children[len(made):], false)
	undo(made, true)
	return list
}

// begun says whether any of some nodes has begun.
func (d *states) begun(list []*plan.Node) bool {
	return slices.ContainsFunc(list, func(c *plan.Node) bool {
		status := d.get(c.ID).Status
		return !notStarted(status) && status != plan.Skipped
	})
}

// holdsRollback says whether a node is or has a group with rollbackSteps.
func holdsRollback(n *plan.Node) bool {
	return n.Kind == plan.KindGroup && len(n.Rollback) > 0 || slices.ContainsFunc(n.Children, holdsRollback)
}

// turnBack sends a container to its rollback: conditions see only that
// section, and a stage's own time no longer counts.
func (d *states) turnBack(n *plan.Node, s plan.State) plan.State {
	s.Rollback, s.Unwind, s.Cursor = true, plan.Unwind{}, 0
	s.FailedSoFar, s.IgnoredSoFar = false, false
	if n.Kind == plan.KindStage {
		s.Deadline = d.get(parentID(n)).Deadline
	}
	return s
}

// undo runs the rollback of a forward child of a container that has turned
// back: that of the child or of what is in it, at the same time. True when
// all of it has ended.
func (w *walk) undo(n, c *plan.Node) bool {
	targets := w.states.undone(n, c)
	if len(targets) == 0 {
		return true
	}
	at := At{Node: targets[0].ID, Wait: waitUndo}
	var open []*plan.Node
	for _, t := range targets {
		s := w.states.get(t.ID)
		switch {
		case s.Rollback && s.Status.Terminal():
			continue
		case !s.Rollback && (w.Aborted || w.over(w.states.get(n.ID).Deadline)):
			continue
		case !s.Rollback:
			w.states.put(t.ID, w.states.reopen(n, t, s))
		case w.After == at:
			w.lost(t)
			continue
		}
		open = append(open, t)
	}
	if len(open) == 0 {
		return true
	}
	w.fanOut(open...)
	w.out.At = at
	return false
}

// undoes turns a pipeline back that begins with its rollback
// (semantics/pipeline §5.4, post-deployment rollback): it succeeds unless
// undoing something fails.
func (w *walk) undoes(n *plan.Node) {
	s := w.states.get(n.ID)
	if !w.Undoes || n.Kind != plan.KindPipeline || s.Rollback || s.Status.Terminal() {
		return
	}
	s = w.states.turnBack(n, s)
	s.Forward = plan.Success
	w.states.put(n.ID, s)
}

// undid moves a container on whose child has been undone. A pipeline that does
// nothing else counts how that has ended.
func (w *walk) undid(n, c *plan.Node) {
	s := w.states.get(n.ID)
	s.Cursor++
	if n.Kind == plan.KindPipeline && s.Forward != "" {
		for _, t := range w.states.undone(n, c) {
			s = count(s, t, w.states.get(t.ID))
		}
	}
	w.states.put(n.ID, s)
}

// undone lists the stages, or the groups, at or below a child that began and
// have something to undo. A stage that nobody has run, or given its inputs, has
// nothing, nor has what couldn't begin.
func (d *states) undone(n, c *plan.Node) []*plan.Node {
	kind := plan.KindGroup
	if n.Kind == plan.KindPipeline {
		kind = plan.KindStage
	}
	s := d.get(c.ID)
	if notStarted(s.Status) || s.Status == plan.Skipped || s.Undecided || c.Kind == plan.KindStage && s.Wait == plan.WaitInput {
		return nil
	}
	if c.Kind == kind && len(d.section(c, plan.State{Rollback: true})) > 0 {
		return []*plan.Node{c}
	}
	if c.Kind == plan.KindStage {
		return nil
	}
	var list []*plan.Node
	for _, child := range d.plan.Children(c, s) {
		list = append(list, d.undone(n, child)...)
	}
	return list
}

// reopen makes a node that has ended run its rollback.
func (d *states) reopen(n, t *plan.Node, s plan.State) plan.State {
	s.Forward, s.Status, s.EndedAt = s.Status, plan.Running, time.Time{}
	s = d.turnBack(t, s)
	s.Worst, s.Deadline = plan.Success, d.get(n.ID).Deadline
	if exclusive(t, s) {
		s.Wait, s.Turn = plan.WaitTurn, ""
	}
	if made := len(t.Provisioning()); made > 0 && !d.begun(t.Children[made:]) {
		s.Wait = plan.WaitWork // it has deployed nothing, perhaps because nobody knows where to
	}
	return s
}

// again begins a group again from its first step, or ends it when it may not
// (RetryStepGroup); after the wait between two tries.
func (w *walk) again(n *plan.Node, s plan.State) {
	u := s.Unwind
	s.Unwind = plan.Unwind{}
	if s.Try >= u.RetryCount {
		s.Status, s.EndedAt = w.endStatus(n, s), w.Now
		w.states.put(n.ID, s)
		return
	}
	s.Wait, s.Until, s.Token = plan.WaitRetry, w.Now, ""
	if len(u.RetryIntervals) > 0 {
		s.Until = w.Now.Add(u.RetryIntervals[min(s.Try, len(u.RetryIntervals)-1)])
	}
	w.states.put(n.ID, s)
}

// between waits until a group begins again; false when it has.
func (w *walk) between(n *plan.Node) bool {
	s := w.states.get(n.ID)
	if s.Wait != plan.WaitRetry || s.Status.Terminal() {
		return false
	}
	late := w.Aborted || w.over(s.Deadline)
	if !late && !w.over(s.Until) {
		w.out.Do, w.out.At = DoAwait, At{Node: n.ID, Wait: plan.WaitRetry, Look: s.Look}
		w.out.Wake = earlier(s.Until, s.Deadline).Sub(w.Now)
		return true
	}
	s.Wait, s.Until, s.Token = plan.WaitWork, time.Time{}, ""
	if !late {
		parent := w.states.get(parentID(n))
		s.Try, s.Cursor, s.Worst, s.Message = s.Try+1, 0, "", ""
		s.FailedSoFar, s.IgnoredSoFar = parent.FailedSoFar, parent.IgnoredSoFar
		for _, c := range n.Children {
			w.reset(c)
		}
	}
	w.states.put(n.ID, s)
	return false
}

// reset makes a node and what is below it as if it had not begun, but for
// what keeps the names of its tasks and machine runs apart from earlier ones.
func (w *walk) reset(n *plan.Node) {
	s := w.states.get(n.ID)
	if s.Status == "" {
		return
	}
	for _, c := range w.Plan.Children(n, s) {
		w.reset(c)
	}
	if s.Attempt > s.Base {
		s = w.archive(s, plan.Outcome{Status: s.Status, Message: s.Message})
	}
	w.states.put(n.ID, plan.State{
		Status: plan.NotStarted, Try: s.Try + 1, Attempt: s.Attempt, Base: s.Attempt, History: s.History, Look: s.Look,
		Turn: s.Turn, // a Queue step that has passed still holds its key
	})
}

// fresh is the state from which a node begins: what reset kept.
func (d *states) fresh(id plan.NodeID) plan.State {
	s := d.get(id)
	return plan.State{
		Try: s.Try, Attempt: s.Attempt, Base: s.Base, History: s.History, Look: s.Look, Turn: s.Turn,
		Answered: s.Answered, Given: s.Given, // nobody is asked twice
	}
}

// ended is the state of a node that ends without having run.
func (w *walk) ended(id plan.NodeID, status plan.Status, why string) {
	s := w.states.fresh(id)
	s.Status, s.StartedAt, s.EndedAt, s.Message = status, w.Now, w.Now, why
	w.states.put(id, s)
}
