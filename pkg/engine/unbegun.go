package engine

import "github.com/slipway-cd/slipway/pkg/plan"

// undecided ends a container whose condition, timeout or loop can't be
// evaluated: whether or how it runs can't be found out.
func (w *walk) undecided(n *plan.Node, s plan.State, err error) plan.State {
	s.Undecided = true
	return w.unbegun(n, s, failed(err), n.Kind == plan.KindLoop && n.Loop.Deploys)
}

// unbegun ends a container that fails before its first child by its strategy:
// it has done nothing that could be undone or tried again, what is around it
// may have. So a strategy that would try again, or ask a person, goes on with
// what it does afterwards. What a loop would repeat decides for the loop.
// chooses says that it failed to choose what it deploys where.
func (w *walk) unbegun(n *plan.Node, s plan.State, o plan.Outcome, chooses bool) plan.State {
	if n.Kind == plan.KindLoop {
		n = n.Children[0]
	}
	levels := n.Strategies
	if chooses {
		levels = levels.ForServices()
	}
	action, ok := choose(levels, o.Failures)
	for action.Then != nil {
		action = *action.Then
	}
	s.Status, s.EndedAt, s.Message = o.Status, w.Now, o.Message
	switch action.Type {
	case plan.Ignore:
		s.Status = plan.IgnoreFailed
	case plan.MarkAsSuccess:
		s.Status = plan.Success
	case plan.Abort:
		s.Status, w.out.Abort = plan.Aborted, true
	case plan.StageRollback, plan.PipelineRollback, plan.StepGroupRollback, plan.RetryStepGroup:
		u := unwinding(action)
		if !answers(n, u) && !n.InRollback() { // there it degrades to MarkAsFailure (semantics/pipeline §5.4)
			s.Unwind = u
		}
	case plan.MarkAsFailure, plan.Retry, plan.ManualIntervention, plan.ProceedWithDefaultValues:
	}
	if !ok && n.InRollback() {
		s.Unwind.Action = plan.StageRollback // it ends the section (semantics/pipeline §5.4)
	}
	return s
}
