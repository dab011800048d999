package message

import "strings"

// slackMessage is what an incoming webhook of Slack takes: a line of text and
// an attachment, whose colour stands beside its blocks.
type slackMessage struct {
	Text        string            `json:"text"`
	Attachments []slackAttachment `json:"attachments"`
}

type slackAttachment struct {
	Color  string       `json:"color"`
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type   string      `json:"type"`
	Fields []slackText `json:"fields"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func slack(a About) slackMessage {
	color := a.color()
	var fields []slackText // at most ten, of 2,000 characters each
	for _, f := range a.facts() {
		fields = append(fields, slackText{"mrkdwn", "*" + f.name + "*\n" + slackEscape(f.value)})
	}
	return slackMessage{Text: slackEscape(a.title()), Attachments: []slackAttachment{{
		Color: color, Blocks: []slackBlock{{Type: "section", Fields: fields}},
	}}}
}

// slackEscape keeps a text from being read as a link or a mention, such as
// <!channel>.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
