package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
)

// Outgoing is a message ready to be sent. Exactly one of its fields is set.
type Outgoing struct {
	Post *Post
	Mail *mail.Message
}

// Post is a document for somebody's HTTP endpoint.
type Post struct {
	URL     string
	Headers map[string]string
	Type    string // of the body
	Body    []byte
}

// Targets is how many messages a channel wants of one event: one for each of
// the addresses that are told one by one.
func Targets(m entity.NotificationMethod) int {
	if m.Type.Value == entity.ChannelMSTeams {
		return len(m.Teams)
	}
	return 1
}

// Make makes the message to one of the targets of a channel, whose texts have
// been resolved. The same message again has the same key, by which PagerDuty
// and readers of mail know it.
func Make(a About, m entity.NotificationMethod, target int, key string) (Outgoing, error) {
	switch m.Type.Value {
	case entity.ChannelEmail:
		return Outgoing{Mail: &mail.Message{
			ID: key, Date: a.Event.At, To: m.Recipients, Subject: "[Slipway] " + a.title(), Body: a.title() + "\n\n" + lines(a.facts()),
		}}, nil
	case entity.ChannelSlack:
		return post(m.URL, nil, slack(a))
	case entity.ChannelMSTeams:
		return post(m.Teams[target], nil, teams(a))
	case entity.ChannelPagerDuty:
		return post(pagerDutyURL, nil, pagerDuty(a, m.Key, key))
	case entity.ChannelDatadog:
		return post(m.URL, with(m.Headers, "DD-API-KEY", m.Key), datadog(a))
	case entity.ChannelWebhook:
		if m.Body.Type.Set {
			return Outgoing{Post: &Post{URL: m.URL, Headers: m.Headers, Type: contentType(m.Body.Type.Value), Body: []byte(m.Body.Content)}}, nil
		}
		return post(m.URL, m.Headers, webhook(a))
	}
	return Outgoing{}, fault.New(fault.Unsupported, "there is no channel %q", m.Type.Value)
}

// post makes a Post of a document.
func post[T any](url string, headers map[string]string, document T) (Outgoing, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // nothing of it is in a page
	if err := e.Encode(document); err != nil {
		return Outgoing{}, fmt.Errorf("encode a message: %w", err)
	}
	return Outgoing{Post: &Post{URL: url, Headers: headers, Type: contentType(entity.BodyJSON), Body: body.Bytes()}}, nil
}

// contentType is that of a template's body, by the body's type.
func contentType(body string) string {
	switch body {
	case entity.BodyJSON:
		return "application/json"
	case entity.BodyYAML:
		return "application/yaml"
	case entity.BodyHTML:
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

func with(headers map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	maps.Copy(out, headers)
	return out
}
