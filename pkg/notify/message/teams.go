package message

// teamsMessage is what a webhook of Microsoft Teams takes, that of a workflow
// as well as an incoming webhook of a channel: an adaptive card.
type teamsMessage struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	Content     teamsCard `json:"content"`
}

type teamsCard struct {
	Schema  string         `json:"$schema"`
	Type    string         `json:"type"`
	Version string         `json:"version"`
	Body    []teamsElement `json:"body"`
}

// teamsElement is a TextBlock or a FactSet.
type teamsElement struct {
	Type   string      `json:"type"`
	Text   string      `json:"text,omitempty"`
	Weight string      `json:"weight,omitempty"`
	Color  string      `json:"color,omitempty"`
	Wrap   bool        `json:"wrap,omitempty"`
	Facts  []teamsFact `json:"facts,omitempty"`
}

type teamsFact struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

func teams(a About) teamsMessage {
	color := map[tone]string{plain: "Accent", good: "Good", warning: "Warning", bad: "Attention"}[a.tone()]
	var facts []teamsFact
	for _, f := range a.facts() {
		facts = append(facts, teamsFact{f.name, f.value})
	}
	return teamsMessage{Type: "message", Attachments: []teamsAttachment{{
		ContentType: "application/vnd.microsoft.card.adaptive",
		Content: teamsCard{
			Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.2",
			Body: []teamsElement{
				{Type: "TextBlock", Text: a.title(), Weight: "Bolder", Color: color, Wrap: true},
				{Type: "FactSet", Facts: facts},
			},
		},
	}}}
}
