package planning

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// strategies are the failure strategies of a node (semantics/pipeline §5.1).
func strategies(list []entity.FailureStrategy) []plan.Strategy {
	var out []plan.Strategy
	for _, one := range list {
		a := action(&one.Action)
		if a == nil {
			continue
		}
		s := plan.Strategy{Action: *a}
		for _, e := range one.Errors {
			s.Errors = append(s.Errors, fault.FailureType(e.Value))
		}
		out = append(out, s)
	}
	return out
}

// action is what a strategy does. What comes after retries, or after the time of
// an intervention, is MarkAsFailure where nobody says.
func action(from *entity.Action) *plan.Action {
	if from == nil || from.Type.Value == "" {
		return nil
	}
	a := &plan.Action{
		Type: plan.ActionType(from.Type.Value), RetryCount: from.RetryCount.Value, RetryIntervals: durations(from.RetryIntervals),
		Condition: from.Condition.Text, Timeout: from.Timeout.Value, FailAll: from.FailAll.Value,
	}
	if a.Type == plan.Retry || a.Type == plan.ManualIntervention {
		if a.Then = action(from.Then); a.Then == nil {
			a.Then = &plan.Action{Type: plan.MarkAsFailure}
		}
	}
	return a
}

// about says which group the action and its fallbacks are about.
func about(a *plan.Action, depth int) {
	for ; a != nil; a = a.Then {
		if a.Type == plan.StepGroupRollback || a.Type == plan.RetryStepGroup {
			a.Depth = depth
		}
	}
}

func durations(list []yamldoc.Field[time.Duration]) []time.Duration {
	var out []time.Duration
	for _, f := range list {
		out = append(out, f.Value)
	}
	return out
}
