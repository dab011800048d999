package resolve

import (
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

// startedBy is the event that the execution was started by, if a trigger
// started it.
func (s *Scope) startedBy() (trigger.Event, error) {
	if s.event == nil {
		e, err := trigger.Decode(s.Plan.Trigger)
		if err != nil {
			return trigger.Event{}, err
		}
		s.event, s.eventNames = &e, e.Names()
	}
	return *s.event, nil
}

// triggered resolves trigger.* and eventPayload.*. Without a trigger they are
// known names without a value (semantics/pipeline §3.5).
func (s *Scope) triggered(path []string) (expr.Value, int, error) {
	if s.Plan.Trigger == nil {
		return expr.Null(), len(path), nil
	}
	if _, err := s.startedBy(); err != nil {
		return expr.Null(), 0, err
	}
	return s.eventNames.Lookup(path)
}

func (s *Scope) triggerType() (expr.Value, int, error) {
	if s.Plan.Trigger == nil {
		return expr.String("MANUAL"), 1, nil
	}
	e, err := s.startedBy()
	return expr.String(e.TriggerType()), 1, err
}
