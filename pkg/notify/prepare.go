package notify

import (
	"context"
	"maps"
	"strings"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
)

// send makes a message and sends it. Only here, and only for as long as it
// takes, secrets are open; errors show none of them.
func (n *Notifier) send(ctx context.Context, d delivery) error {
	about := message.About{Type: d.typ, Event: d.event}
	method, names, err := n.resolve(ctx, d, &about)
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
	if err := n.Settle(); err != nil {
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
func (n *Notifier) resolve(ctx context.Context, d delivery, about *message.About) (entity.NotificationMethod, map[string]string, error) {
	wanted := map[string]string{}
	want := func(text string) string {
		wanted[text] = text
		return text
	}
	for _, text := range []string{triggerType, triggeredBy, triggeredEmail, executionURL} {
		want(text)
	}
	method := d.method
	method.Body.Content = "" // has more names
	each(method, want)
	out, err := n.texts(ctx, d, wanted, nil)
	if err != nil {
		return entity.NotificationMethod{}, nil, err
	}
	if err := delegatesOnly(out); err != nil {
		return entity.NotificationMethod{}, nil, err
	}
	texts, names := out.Texts, map[string]string{}
	maps.Copy(names, out.Secrets)
	known := func(text string) string {
		if v := texts[text]; v != text && v != "null" {
			return v
		}
		return ""
	}
	about.Origin = message.Origin{Trigger: known(triggerType), Name: known(triggeredBy), Email: known(triggeredEmail), ExecutionURL: known(executionURL)}
	if err := n.trigger(ctx, d, &about.Origin); err != nil {
		return entity.NotificationMethod{}, nil, err
	}
	method = each(method, func(text string) string { return texts[text] })
	if method.Body.Content, err = n.body(ctx, d, *about, names); err != nil {
		return entity.NotificationMethod{}, nil, err
	}
	return method, names, nil
}

// body resolves what a template sends. The names of its secrets come to those
// of the addresses.
func (n *Notifier) body(ctx context.Context, d delivery, about message.About, names map[string]string) (string, error) {
	const content = "template.body.content"
	known := map[string]expr.Value{"notification": expr.FromAny(about.Names())}
	out, err := n.texts(ctx, d, map[string]string{content: d.method.Body.Content}, known)
	if err != nil {
		return "", err
	}
	if err := delegatesOnly(out); err != nil {
		return "", err
	}
	maps.Copy(names, out.Secrets)
	return out.Texts[content], nil
}

// delegatesOnly refuses what no text can hold that no delegate takes.
func delegatesOnly(out engine.Texts) error {
	switch {
	case len(out.LateSecrets) > 0:
		return fault.New(fault.Invalid, "a notification can't have an image pull secret, nor a secret that another manager keeps: only delegates get those")
	case len(out.LateTexts) > 0:
		return fault.New(fault.Invalid, "a config file that only delegates can read or encode can't be in a notification")
	}
	return nil
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
		Body: entity.NotificationBody{Type: m.Body.Type, Content: change(m.Body.Content)},
	}
	for name, text := range m.Headers {
		out.Headers[name] = change(text)
	}
	return out
}

// mailServer is the installation's, with its password; nil for other channels
// than mail.
func (n *Notifier) mailServer(ctx context.Context, d delivery) (*mail.Server, error) {
	if d.method.Type.Value != entity.ChannelEmail || n.Mail == nil {
		return n.Mail, nil
	}
	return n.server(ctx, d.execution.Scope.Account)
}

// server is the installation's mail server, with its password.
func (n *Notifier) server(ctx context.Context, account string) (*mail.Server, error) {
	if n.Mail.Password == "" {
		return n.Mail, nil
	}
	server := *n.Mail
	r, err := ref.Parse(server.Password, ref.Scope{Account: account})
	if err != nil {
		return nil, fault.New(fault.Invalid, "the mail server's password: %w", err)
	}
	server.Password, err = n.Secret.Reveal(ctx, secret.Name(r))
	return &server, err
}
