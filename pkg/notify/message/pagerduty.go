package message

import "time"

// pagerDutyURL takes events of the Events API, version 2.
const pagerDutyURL = "https://events.pagerduty.com/v2/enqueue"

// pagerDutyEvent is such an event.
type pagerDutyEvent struct {
	RoutingKey  string           `json:"routing_key"`
	EventAction string           `json:"event_action"`
	DedupKey    string           `json:"dedup_key"`
	Client      string           `json:"client"`
	Payload     pagerDutyPayload `json:"payload"`
}

type pagerDutyPayload struct {
	Summary   string            `json:"summary"` // at most 1,024 characters
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp time.Time         `json:"timestamp"`
	Component string            `json:"component"`
	Group     string            `json:"group,omitempty"`
	Class     string            `json:"class"`
	Details   map[string]string `json:"custom_details"`
}

func pagerDuty(a About, routingKey, key string) pagerDutyEvent {
	d := a.Event.Detail
	details := map[string]string{}
	for _, f := range a.facts() {
		details[f.name] = f.value
	}
	return pagerDutyEvent{
		RoutingKey: routingKey, EventAction: "trigger", DedupKey: key, Client: "Slipway",
		Payload: pagerDutyPayload{
			Summary: cut(a.title(), 1024), Source: "slipway", Timestamp: a.Event.At.UTC(), Component: d.Pipeline, Group: d.Project, Class: a.Type,
			Severity: map[tone]string{plain: "info", good: "info", warning: "warning", bad: "error"}[a.tone()], Details: details,
		},
	}
}
