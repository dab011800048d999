package notify

import (
	"context"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/task"
)

// send makes a message and sends it. Only here, and only for as long as it
// takes, secrets are open; errors show none of them.
func (n *Notifier) send(ctx context.Context, d delivery) error {
	about := message.About{Type: d.typ, Event: d.event}
	method, names, err := n.resolve(ctx, d, &about.Origin)
	if err != nil {
		return err
	}
	values, err := n.Secret.RevealAll(ctx, d.execution.Scope, names)
	if err != nil {
		return err
	}
	method = fill(method, values)
	server, err := n.mailServer(ctx, d)
	if err != nil {
		return err
	}
	_, key, _ := strings.Cut(d.key(), "/notification/")
	out, err := message.Make(about, method, d.target, key)
	if err != nil {
		return err
	}
	if err := n.Sender.Send(ctx, out, server); err != nil {
		masker := redact.New()
		for _, v := range values {
			masker.Add(v)
		}
		return refusal{masker.Text(err.Error())}
	}
	return nil
}

// What a message tells of its execution that expressions know.
const (
	triggerType    = "<+pipeline.triggerType>"
	triggeredBy    = "<+pipeline.triggeredBy.name>"
	triggeredEmail = "<+pipeline.triggeredBy.email>"
	executionURL   = "<+pipeline.executionUrl>"
)

// resolve resolves a channel's texts in the event's context, and tells what
// the execution knows. Secrets stay placeholders, whose names come with them.
func (n *Notifier) resolve(ctx context.Context, d delivery, origin *message.Origin) (entity.NotificationMethod, map[string]string, error) {
	wanted := map[string]string{}
	want := func(text string) string {
		wanted[text] = text
		return text
	}
	for _, text := range []string{triggerType, triggeredBy, triggeredEmail, executionURL} {
		want(text)
	}
	each(d.method, want)
	out, err := n.Engine.ResolveKnown(ctx, d.execution.ID, d.node, wanted)
	if err != nil {
		return entity.NotificationMethod{}, nil, err
	}
	if len(out.PullSecrets) > 0 {
		return entity.NotificationMethod{}, nil, fault.New(fault.Invalid, "an image pull secret can't be in a notification: only delegates can make one")
	}
	texts, names := out.Texts, out.Secrets
	known := func(text string) string {
		if v := texts[text]; v != text && v != "null" {
			return v
		}
		return ""
	}
	*origin = message.Origin{Trigger: known(triggerType), Name: known(triggeredBy), Email: known(triggeredEmail), ExecutionURL: known(executionURL)}
	return each(d.method, func(text string) string { return texts[text] }), names, nil
}

// fill puts secrets where their placeholders are.
func fill(m entity.NotificationMethod, values map[string]string) entity.NotificationMethod {
	var pairs []string
	for placeholder, value := range values {
		pairs = append(pairs, placeholder, value)
	}
	return each(m, strings.NewReplacer(pairs...).Replace)
}

// each is a method with its texts changed.
func each(m entity.NotificationMethod, change func(string) string) entity.NotificationMethod {
	list := func(texts []string) []string {
		var out []string
		for _, t := range texts {
			out = append(out, change(t))
		}
		return out
	}
	out := entity.NotificationMethod{
		Type: m.Type, URL: change(m.URL), Key: change(m.Key), Teams: list(m.Teams), Recipients: list(m.Recipients), Headers: map[string]string{},
	}
	for name, text := range m.Headers {
		out.Headers[name] = change(text)
	}
	return out
}

// mailServer is the installation's, with its password; nil for other channels
// than mail.
func (n *Notifier) mailServer(ctx context.Context, d delivery) (*task.MailServer, error) {
	if d.method.Type.Value != entity.ChannelEmail || n.Mail == nil || n.Mail.Password == "" {
		return n.Mail, nil
	}
	server := *n.Mail
	r, err := ref.Parse(server.Password, ref.Scope{Account: d.execution.Scope.Account})
	if err != nil {
		return nil, fault.New(fault.Invalid, "the mail server's password: %w", err)
	}
	server.Password, err = n.Secret.Reveal(ctx, secret.Name(r))
	return &server, err
}
