package message

// Names are what expressions of a template know as <+notification...>
// (semantics/pipeline §3.6).
func (a About) Names() map[string]any {
	d := a.Event.Detail
	started, _ := moment(d.StartedAt)
	ended, _ := moment(d.EndedAt)
	return map[string]any{
		"eventType": a.Type, "nodeStatus": a.nodeStatus(), "imageStatus": a.nodeStatus(), "themeColor": a.color(),
		"startDate": started, "endDate": ended, "duration": duration(d.StartedAt, d.EndedAt),
	}
}

// color is the tone as a color of a page.
func (a About) color() string {
	return map[tone]string{plain: "#0278d5", good: "#2eb886", warning: "#daa038", bad: "#cc0000"}[a.tone()]
}
