package message

import "strings"

// datadogEvent is an event of Datadog's Events API, version 1.
type datadogEvent struct {
	Title          string   `json:"title"`
	Text           string   `json:"text"` // at most 4,000 characters
	AlertType      string   `json:"alert_type"`
	AggregationKey string   `json:"aggregation_key"` // at most 100 characters
	DateHappened   int64    `json:"date_happened"`   // seconds since 1970
	Tags           []string `json:"tags"`
}

func datadog(a About) datadogEvent {
	d := a.Event.Detail
	e := datadogEvent{
		Title: a.title(), Text: cut(lines(a.facts()), 4000), AggregationKey: cut(d.Execution, 100), DateHappened: a.Event.At.Unix(),
		AlertType: map[tone]string{plain: "info", good: "success", warning: "warning", bad: "error"}[a.tone()],
	}
	for _, tag := range []fact{
		{"account", d.Account}, {"org", d.Org}, {"project", d.Project}, {"pipeline", d.Pipeline}, {"event", a.Type}, {"status", string(d.Status)},
	} {
		if tag.value != "" {
			e.Tags = append(e.Tags, tag.name+":"+strings.ToLower(tag.value))
		}
	}
	return e
}
