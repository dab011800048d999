package engine

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// maxHistory bounds the earlier attempts that are kept with a step.
const maxHistory = 50

// conclude ends an attempt: success ends the step, a failure goes to the
// strategies. late says that the time of the stage or pipeline is up, or that
// another member's failure fails all: then no step strategy applies any more
// (semantics/pipeline §5.5).
func (w *walk) conclude(n *plan.Node, s plan.State, o plan.Outcome, late bool) plan.State {
	s.Outcome, s.Outputs, s.Failures, s.Message = &o, o.Outputs, o.Failures, o.Message
	switch {
	case o.Status.Good():
		s.Status, s.Outcome = o.Status, nil
		return s
	case o.Status == plan.Aborted || o.Status == plan.AbortedByFreeze || late:
		s.Status = o.Status
		return s
	case s.Strategy != nil: // a decision was made at the first failure (semantics/pipeline §5.2 rule 3)
		return w.apply(n, s, *s.Strategy, o)
	}
	action, ok := choose(n.Strategies, o.Failures)
	if !ok {
		// No strategy: like MarkAsFailure (semantics/pipeline §5.2 rule 2). In a
		// rollback it ends the section (semantics/pipeline §5.4).
		s.Status = o.Status
		if n.InRollback() {
			s.Unwind.Action = plan.StageRollback
		}
		return s
	}
	return w.apply(n, s, action, o)
}

// choose picks the strategy for a failure: the innermost level that has a
// match, and within it an explicit type before AllErrors
// (semantics/pipeline §5.2).
func choose(levels plan.Levels, failures []fault.FailureType) (plan.Action, bool) {
	for _, level := range levels {
		for _, s := range level {
			for _, f := range failures {
				if slices.Contains(s.Errors, f) {
					return s.Action, true
				}
			}
		}
		for _, s := range level {
			if slices.Contains(s.Errors, fault.AllErrors) {
				return s.Action, true
			}
		}
	}
	return plan.Action{}, false
}

// apply carries an action out on a step whose attempt failed.
func (w *walk) apply(n *plan.Node, s plan.State, a plan.Action, o plan.Outcome) plan.State {
	switch a.Type {
	case plan.Ignore:
		s.Status = plan.IgnoreFailed
	case plan.MarkAsSuccess:
		s.Status = plan.Success
	case plan.MarkAsFailure:
		s.Status = o.Status
	case plan.StageRollback, plan.PipelineRollback, plan.StepGroupRollback, plan.RetryStepGroup:
		s.Status = o.Status
		if !n.InRollback() { // there it degrades to MarkAsFailure (semantics/pipeline §5.4)
			s.Unwind = unwinding(a)
		}
	case plan.ProceedWithDefaultValues:
		return w.proceed(n, s, o)
	case plan.Abort:
		s.Status, w.out.Abort = plan.Aborted, true
	case plan.Retry:
		return w.retry(n, s, a, o)
	case plan.ManualIntervention:
		s.Status, s.Wait, s.Token = plan.InterventionWaiting, plan.WaitIntervention, ""
		s.Deadline, s.Strategy = w.Now.Add(a.Timeout), &a
	}
	if s.Status.Terminal() {
		s.Outcome = nil
	}
	return s
}

// unwinding is what an action asks of the container that it is for.
func unwinding(a plan.Action) plan.Unwind {
	return plan.Unwind{Action: a.Type, Depth: a.Depth, FailAll: a.FailAll, RetryCount: a.RetryCount, RetryIntervals: a.RetryIntervals}
}

// retry waits for the next attempt, or applies the fallback when the attempts
// are used up or the condition doesn't hold (semantics/pipeline §5.3).
func (w *walk) retry(n *plan.Node, s plan.State, a plan.Action, o plan.Outcome) plan.State {
	done := s.Attempt - 1 - s.Base
	if done >= a.RetryCount || !w.retryWanted(n, s, a) {
		return w.apply(n, s, *a.Then, o)
	}
	var interval time.Duration
	if len(a.RetryIntervals) > 0 {
		interval = a.RetryIntervals[min(done, len(a.RetryIntervals)-1)] // the last one repeats
	}
	s = w.archive(s, o)
	s.Strategy = &a
	if interval <= 0 {
		w.beginAttempt(n, s)
		return w.states.get(n.ID)
	}
	s.Status, s.Wait, s.Token, s.Outcome = plan.Running, plan.WaitRetry, "", nil
	s.Deadline = w.Now.Add(interval)
	return s
}

// retryWanted evaluates a Retry's condition over the failed attempt.
func (w *walk) retryWanted(n *plan.Node, s plan.State, a plan.Action) bool {
	if a.Condition == "" {
		return true
	}
	w.states.put(n.ID, s) // the condition may read this attempt's outputs
	ok, err := w.Condition(n, a.Condition, w.states.get)
	return ok && err == nil
}

// archive keeps the attempt that failed as history.
func (w *walk) archive(s plan.State, o plan.Outcome) plan.State {
	a := plan.Attempt{Number: s.Attempt, Status: o.Status, Message: o.Message, StartedAt: attemptStart(s), EndedAt: w.Now}
	s.History = append(slices.Clone(s.History), a)
	if len(s.History) > maxHistory {
		s.History = s.History[len(s.History)-maxHistory:]
	}
	return s
}

// decided carries a person's answer to a manual intervention out.
func (w *walk) decided(n *plan.Node, s plan.State) plan.State {
	o := *s.Outcome
	if o.Decision == plan.Retry {
		s = w.archive(s, o)
		w.beginAttempt(n, s) // s.Strategy stays: failing again asks again
		return w.states.get(n.ID)
	}
	return w.apply(n, s, plan.Action{Type: o.Decision, Depth: groupDepth(n)}, o)
}

// leaveForward applies the stage's own strategy when its time is up: once,
// with the type Timeout, and only the actions that make sense for a stage
// (semantics/pipeline §5.5). It returns the state with Unwind set for a
// rollback.
func (w *walk) leaveForward(n *plan.Node, s plan.State) plan.State {
	complete := s.Cursor >= len(n.Children) && s.Worst != plan.Expired
	if complete || s.Unwind.Action != "" || !w.over(s.Deadline) || w.over(w.states.get(parentID(n)).Deadline) {
		return s
	}
	s.Worst, s.Message, s.Cursor = plan.Expired, "the stage timed out", len(n.Children)
	action, ok := choose(n.Strategies, []fault.FailureType{fault.Timeout})
	if !ok {
		return s
	}
	switch action.Type {
	case plan.StageRollback, plan.PipelineRollback:
		s.Unwind.Action, s.Unwind.FailAll = action.Type, action.FailAll
	case plan.Ignore:
		s.Worst = plan.IgnoreFailed
	case plan.MarkAsSuccess:
		s.Worst = plan.Success
	case plan.Abort:
		s.Worst, w.out.Abort = plan.Aborted, true
	case plan.MarkAsFailure, plan.Retry, plan.ManualIntervention, plan.StepGroupRollback, plan.RetryStepGroup,
		plan.ProceedWithDefaultValues:
		// The stage ends Expired.
	}
	return s
}
