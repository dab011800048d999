package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// defaultTimeout is that of a step that says none (semantics/pipeline §1.4).
// The Timeout function knows the defaults of step types; this one is its
// floor.
const defaultTimeout = 10 * time.Minute

// beginAttempt starts a step's next attempt. Its timeout starts again
// (semantics/pipeline §5.3). A timeout that can't be evaluated ends the
// attempt, and so does a condition, which the next attempt evaluates again.
func (w *walk) beginAttempt(n *plan.Node, s plan.State) {
	timeout, err := w.Timeout(n, w.states.get)
	run := true
	if s.Undecided {
		var undecided error
		run, undecided = w.Condition(n, n.When.Condition, w.states.get)
		s.Undecided, err = undecided != nil, cmp.Or(undecided, err)
	}
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	if s.StartedAt.IsZero() {
		s.StartedAt = w.Now
	}
	s.Attempt++
	s.Status, s.Wait, s.Token, s.Outcome, s.Until, s.Approval = plan.Running, plan.WaitWork, "", nil, time.Time{}, nil
	s.Deadline = w.Now.Add(timeout)
	if n.Asks != "" && !s.Answered {
		s.Status, s.Wait = plan.InputWaiting, plan.WaitInput
	}
	switch {
	case err != nil:
		o := failed(err)
		s.Outcome = &o
	case !run:
		s.Status, s.Message, s.Failures = plan.Skipped, "", nil
	}
	w.states.put(n.ID, s)
}

// step moves a step that has begun on; true when it has ended. It is the one
// place where waits end, whatever woke the machine run: the stored facts and
// the clock decide, so a spurious or repeated wake-up only waits again.
func (w *walk) step(n *plan.Node) bool {
	outer := w.states.get(parentID(n)).Deadline
	for {
		s := w.states.get(n.ID)
		switch {
		case s.Status.Terminal():
			s.EndedAt, s.Token, s.Strategy = w.Now, "", nil
			w.states.put(n.ID, s)
			return true
		case w.Aborted:
			w.states.put(n.ID, w.abort(n, s, outer))
		case s.Wait == plan.WaitInput && s.Outcome == nil && s.Answered:
			w.states.put(n.ID, answered(n, s))
		case s.Wait == plan.WaitInput || s.Wait == plan.WaitWork || s.Wait == plan.WaitTurn || s.Wait == plan.WaitBarrier || s.Wait == plan.WaitChild || s.Wait == plan.WaitEvent:
			s = w.autoApproved(s)
			o := w.room(w.outcome(n, s, outer))
			if o == nil {
				return w.await(n, s, outer)
			}
			if o.Again > 0 {
				w.lookAgain(n, s, *o)
				continue
			}
			o = enforced(w, n, s, o)
			w.approved(n, s, *o)
			w.states.put(n.ID, w.conclude(n, w.quit(n, s), *o, w.over(outer) || w.states.swept(n)))
		case w.over(outer):
			s.Status, s.Message = plan.Expired, "the time of its stage or pipeline was up"
			w.states.put(n.ID, s)
		case (s.Wait == plan.WaitIntervention || s.Wait == plan.WaitRetry) && w.states.swept(n):
			s.Status = plan.Failed
			w.states.put(n.ID, s)
		case s.Wait == plan.WaitIntervention && s.Outcome.Decision != "":
			w.states.put(n.ID, w.decided(n, s))
		case s.Wait == plan.WaitLook && (w.over(s.Until) || w.over(s.Deadline)):
			s.Wait, s.Until = plan.WaitWork, time.Time{}
			w.states.put(n.ID, s)
		case !w.over(s.Deadline):
			return w.await(n, s, outer)
		case s.Wait == plan.WaitRetry:
			w.beginAttempt(n, s)
		case s.Wait == plan.WaitIntervention:
			w.states.put(n.ID, w.apply(n, s, *s.Strategy.Then, *s.Outcome))
		}
	}
}

// abort ends a step of an aborted execution. What had ended by itself before
// the abort reached it keeps a success, and tells of a failure, for which a
// strategy may have aborted.
func (w *walk) abort(n *plan.Node, s plan.State, outer time.Time) plan.State {
	why := w.room(w.failure(n, s, outer))
	if s.Wait == plan.WaitWork {
		switch o := w.Task(n, s.Attempt, s.Look).Outcome; {
		case o == nil:
			w.drop(n, s)
		case o.Status == plan.Success:
			return w.conclude(n, s, *enforced(w, n, s, w.room(o)), true)
		}
	}
	if s.Wait == plan.WaitChild {
		w.drop(n, s)
	}
	s = w.quit(n, s)
	s.Status, s.Message = plan.Aborted, "aborted"
	if why != nil {
		s.Outputs, s.Failures, s.Message = why.Outputs, why.Failures, cmp.Or(why.Message, s.Message)
	}
	return s
}

// failure is how a step that is to be aborted had failed before; nil if it
// hadn't.
func (w *walk) failure(n *plan.Node, s plan.State, outer time.Time) *plan.Outcome {
	o := s.Outcome
	switch s.Wait {
	case plan.WaitRetry, plan.WaitLook, plan.WaitPause:
		return nil
	case plan.WaitWork, plan.WaitInput, plan.WaitTurn, plan.WaitBarrier, plan.WaitChild, plan.WaitEvent:
		if o != nil {
			break
		}
		t := w.facts(n, s)
		t.Refused = false // by the abort
		if o = t.Outcome; o == nil {
			o = w.lateOutcome(n, s, outer, t)
		}
	case plan.WaitIntervention:
	}
	if o == nil || o.Status.Good() || o.Again > 0 {
		return nil
	}
	return o
}

// autoApproved answers an approval whose time to approve by itself has come
// (semantics/pipeline §7.7).
func (w *walk) autoApproved(s plan.State) plan.State {
	if s.Approval == nil || s.Approval.Auto == nil || s.Outcome != nil || !w.over(s.Until) {
		return s
	}
	a := *s.Approval
	a.Activities = append(slices.Clone(a.Activities), plan.ApprovalActivity{
		User: plan.AutoApprover, Action: plan.Approve, Comments: a.Auto.Comments, Inputs: a.Values(), At: w.Now,
	})
	outputs, err := a.Outputs()
	o := plan.Outcome{Status: plan.Success, Outputs: outputs}
	if err != nil {
		o = failed(err)
	}
	s.Approval, s.Outcome = &a, &o
	return s
}

// lookAgain waits before a step does its task once more.
func (w *walk) lookAgain(n *plan.Node, s plan.State, o plan.Outcome) {
	s.Status, s.Wait, s.Token, s.Outcome = plan.ApprovalWaiting, plan.WaitLook, "", nil
	s.Until, s.Message, s.Look = w.Now.Add(o.Again), o.Message, s.Look+1
	if len(o.Outputs) > 0 {
		s.Outputs = o.Outputs
	}
	w.states.put(n.ID, s)
	if p := n.Parent(); p.Kind != plan.KindParallel && p.Kind != plan.KindLoop {
		c := w.states.get(p.ID)
		c.Look++
		w.states.put(p.ID, c)
	}
}

// await makes the machine run wait for the step. It returns false: not ended.
func (w *walk) await(n *plan.Node, s plan.State, outer time.Time) bool {
	until := earlier(earlier(s.Deadline, s.Until), outer)
	if s.Wait == plan.WaitTurn || s.Wait == plan.WaitBarrier || s.Wait == plan.WaitChild || s.Wait == plan.WaitEvent {
		until = earlier(until, w.Now.Add(turnCheck(w.Now.Sub(attemptStart(s)))))
	}
	if s.Wait == plan.WaitInput || s.Wait == plan.WaitIntervention || s.Wait == plan.WaitWork && s.Approval != nil {
		until = earlier(until, w.Now.Add(answerCheck(w.Now.Sub(attemptStart(s)))))
	}
	w.out.Do = DoAwait
	w.out.At = At{Node: n.ID, Attempt: s.Attempt, Wait: s.Wait, Look: s.Look}
	w.out.Wake = max(until.Sub(w.Now), 0)
	if s.Wait == plan.WaitWork && s.Until.IsZero() && s.Approval == nil {
		w.out.Beat = min(w.Window.Heartbeat, w.Window.NoOne, w.Window.Unclaimed)
	}
	return false
}

// answerCheck is how often what waits for a person looks whether it has been
// answered by somebody who then couldn't wake it: every hour, and more seldom
// the longer it has waited. In 35 days, the longest timeout, these are less
// than 30 times; on AWS each costs three state transitions.
func answerCheck(waited time.Duration) time.Duration {
	return max(time.Hour, waited/4)
}

// earlier is the earlier of two times, the second of which may be none.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// outcome finds how the attempt ended, if it has.
func (w *walk) outcome(n *plan.Node, s plan.State, outer time.Time) *plan.Outcome {
	if s.Outcome != nil {
		if s.Outcome.Marked && w.Task(n, s.Attempt, s.Look).Outcome == nil {
			w.drop(n, s)
		}
		return s.Outcome
	}
	if !s.Until.IsZero() && w.over(s.Until) {
		return &plan.Outcome{Status: plan.Success, Outputs: s.Outputs}
	}
	t := w.facts(n, s)
	if t.Outcome != nil {
		return t.Outcome
	}
	if o := w.lateOutcome(n, s, outer, t); o != nil {
		w.drop(n, s)
		return o
	}
	return nil
}

// facts are what is known of the attempt's task or, at a barrier, of how that
// ended. An attempt or look that this decision begins has no task yet: that is
// made once the decision is written down.
func (w *walk) facts(n *plan.Node, s plan.State) TaskFacts {
	switch s.Wait {
	case plan.WaitBarrier:
		return TaskFacts{Outcome: w.states.barrier(n)}
	case plan.WaitWork:
		if stored := w.State(n.ID); stored.Attempt < s.Attempt || stored.Look < s.Look {
			return TaskFacts{}
		}
		return w.Task(n, s.Attempt, s.Look)
	case plan.WaitInput, plan.WaitTurn, plan.WaitChild, plan.WaitEvent, plan.WaitLook, plan.WaitRetry, plan.WaitIntervention, plan.WaitPause:
	}
	return TaskFacts{}
}

// lateOutcome is the outcome of an attempt that can't or mustn't go on.
func (w *walk) lateOutcome(n *plan.Node, s plan.State, outer time.Time, t TaskFacts) *plan.Outcome {
	switch {
	case s.Wait == plan.WaitInput && w.over(s.Deadline):
		o := inputTimeout(w.Now.Sub(attemptStart(s)))
		return &o
	case w.over(s.Deadline) || w.over(outer):
		return &plan.Outcome{
			Status:   plan.Expired,
			Failures: []fault.FailureType{fault.Timeout},
			Message:  fmt.Sprintf("timed out after %s", w.Now.Sub(attemptStart(s)).Round(time.Second)) + untaken(t),
		}
	case w.Failure != nil && w.After == (At{Node: n.ID, Attempt: s.Attempt, Wait: s.Wait, Look: s.Look}):
		return &plan.Outcome{
			Status:   plan.Errored,
			Failures: []fault.FailureType{fault.Unknown},
			Message:  fmt.Sprintf("couldn't be started: %s: %s", w.Failure.Error, w.Failure.Cause),
		}
	case w.Deploys(n) && w.states.swept(n):
		return &plan.Outcome{Status: plan.Failed, Failures: []fault.FailureType{fault.Unknown}, Message: sweptMessage}
	case t.Lost && t.Looks:
		return lookedInVain()
	case t.Lost:
		return &plan.Outcome{
			Status:   plan.Failed,
			Failures: []fault.FailureType{fault.DelegateRestart},
			Message:  fmt.Sprintf("the delegate gave no sign of life for %s while it ran the task", w.Window.Heartbeat),
		}
	case t.Exists && !t.Claimed:
		return w.Window.unclaimed(t, w.Now.Sub(t.Created))
	}
	return nil
}

// lookedInVain is the outcome of a task that only looks and was lost with its
// delegate.
func lookedInVain() *plan.Outcome {
	return &plan.Outcome{Again: time.Second, Message: "the delegate was lost while it looked; the next one looks again"}
}

// unclaimed is the outcome of a task that nobody has taken for too long
// (semantics/pipeline §12.3); nil while there is time.
func (w Windows) unclaimed(t TaskFacts, age time.Duration) *plan.Outcome {
	if age < min(w.NoOne, w.Unclaimed) {
		return nil
	}
	some, why := t.Eligible()
	if t.Refused {
		some = false // who became eligible since can't take it
	}
	if some && age < w.Unclaimed || !some && age < w.NoOne {
		return nil
	}
	return &plan.Outcome{
		Status:   plan.Failed,
		Failures: []fault.FailureType{fault.DelegateProvisioning},
		Message:  why,
	}
}

// untaken says why no delegate has taken a task, for the message of a timeout.
func untaken(t TaskFacts) string {
	if !t.Exists || t.Claimed {
		return ""
	}
	_, why := t.Eligible()
	return " before a delegate took the task: " + why
}

// attemptStart is when the attempt began, for the message of a timeout.
func attemptStart(s plan.State) time.Time {
	if len(s.History) > 0 {
		return s.History[len(s.History)-1].EndedAt
	}
	return s.StartedAt
}

// drop cancels the attempt's delegate task, or the execution that it started.
func (w *walk) drop(n *plan.Node, s plan.State) {
	if s.Wait == plan.WaitChild {
		w.out.Stop = append(w.out.Stop, s.Child)
	}
	if s.Wait == plan.WaitWork {
		w.out.Cancel = append(w.out.Cancel, At{Node: n.ID, Attempt: s.Attempt, Look: s.Look})
	}
}
