package resolve

import (
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

// started is how an execution was started.
type started struct {
	plan  *plan.Plan
	event *trigger.Event // once it was read
	names expr.Scope
}

// startedBy is the event that the execution was started by, if a trigger
// started it.
func (e *started) startedBy() (trigger.Event, error) {
	if e.event == nil {
		by, err := trigger.Decode(e.plan.Trigger)
		if err != nil {
			return trigger.Event{}, err
		}
		e.event, e.names = &by, by.Names()
	}
	return *e.event, nil
}

// triggered resolves trigger.* and eventPayload.*. Without a trigger they are
// known names without a value (semantics/pipeline §3.5).
func (e *started) triggered(path []string) (expr.Value, int, error) {
	if e.plan.Trigger == nil {
		return expr.Null(), len(path), nil
	}
	if _, err := e.startedBy(); err != nil {
		return expr.Null(), 0, err
	}
	return e.names.Lookup(path)
}

func (e *started) triggerType() (expr.Value, int, error) {
	if e.plan.Trigger == nil {
		return expr.String("MANUAL"), 1, nil
	}
	by, err := e.startedBy()
	return expr.String(by.TriggerType()), 1, err
}
