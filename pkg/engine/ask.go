package engine

import (
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// inputTime is how long a stage waits for its inputs
// (semantics/pipeline §2.2). A step waits until its timeout.
const inputTime = 24 * time.Hour

// asking makes the machine run of a stage wait for the inputs that it asks
// for; false when there is nothing to wait for.
func (w *walk) asking(n *plan.Node) bool {
	s := w.states.get(n.ID)
	at := At{Node: n.ID, Wait: plan.WaitInput}
	if s.Wait != plan.WaitInput || s.Status.Terminal() || w.Aborted {
		return false
	}
	until := s.Until
	if n.Manual == "" {
		until = s.StartedAt.Add(inputTime)
	}
	until = earlier(until, s.Deadline)
	switch {
	case s.Answered:
		s = answered(n, s)
		if n.Manual != "" {
			s = w.timed(n, s)
		}
		w.states.put(n.ID, admission{w}.admitted(n, s))
		return false
	case w.Failure != nil && w.After == at:
		s.Status, s.EndedAt = plan.Errored, w.Now
		s.Message = "couldn't wait for its inputs: " + w.Failure.Error + ": " + w.Failure.Cause
		w.states.put(n.ID, s)
		return false
	case w.over(until):
		w.states.put(n.ID, admission{w}.admitted(n, w.unanswered(n, s)))
		return false
	}
	w.out.Do, w.out.At, w.out.Wake = DoAwait, at, until.Sub(w.Now)
	return true
}

// answered lets a stage or a step go on that has its inputs.
func answered(n *plan.Node, s plan.State) plan.State {
	s.Status, s.Wait, s.Token = plan.Running, plan.WaitWork, ""
	if exclusive(n, s) && len(n.Provisioning()) == 0 {
		s.Wait = plan.WaitTurn
	}
	return s
}

// unanswered ends a stage whose inputs haven't been given in time, or that
// nobody has run, unless its strategy lets it go on with their defaults.
func (w *walk) unanswered(n *plan.Node, s plan.State) plan.State {
	o := inputTimeout(w.Now.Sub(s.StartedAt))
	if n.Manual != "" {
		o.Failures = []fault.FailureType{fault.Timeout}
		o.Message = fmt.Sprintf("nobody has run it within %s", w.Now.Sub(s.StartedAt).Round(time.Second))
	}
	action, _ := choose(n.Strategies, o.Failures)
	if action.Type == plan.ProceedWithDefaultValues && n.Asks == plan.AsksDefaulted && n.Manual == "" {
		s.Answered = true
		return answered(n, s)
	}
	return w.unbegun(n, s, o, false)
}

// inputTimeout is the outcome of what got no inputs in time.
func inputTimeout(waited time.Duration) plan.Outcome {
	return plan.Outcome{
		Status:   plan.Expired,
		Failures: []fault.FailureType{fault.InputTimeoutError},
		Message:  fmt.Sprintf("its inputs weren't given within %s", waited.Round(time.Second)),
	}
}

// proceed begins a step whose inputs weren't given in time anew, with their
// defaults. Any other failure, and an input without a default, ends it.
func (w *walk) proceed(n *plan.Node, s plan.State, o plan.Outcome) plan.State {
	late := len(o.Failures) == 1 && o.Failures[0] == fault.InputTimeoutError
	if !late || n.Asks != plan.AsksDefaulted {
		s.Status = o.Status
		return s
	}
	s = w.archive(s, o)
	s.Answered = true
	w.beginAttempt(n, s)
	return w.states.get(n.ID)
}
