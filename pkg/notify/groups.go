package notify

import (
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/resolve"
)

// methods are the ways of a rule's channel: its own, and those of its user
// groups as they are now. Mail and Teams have one for all.
func (n *Notifier) methods(ctx context.Context, d delivery) ([]entity.NotificationMethod, error) {
	m := d.rule.Method
	if len(m.Groups) == 0 {
		return []entity.NotificationMethod{m}, nil
	}
	more, err := n.addresses(ctx, d)
	if err != nil {
		return nil, err
	}
	switch m.Type.Value {
	case entity.ChannelEmail:
		m.Recipients = slices.Concat(m.Recipients, more)
		if len(m.Recipients) == 0 {
			return nil, nil
		}
		return []entity.NotificationMethod{m}, nil
	case entity.ChannelMSTeams:
		m.Teams = slices.Concat(m.Teams, more)
		return []entity.NotificationMethod{m}, nil
	}
	var out []entity.NotificationMethod
	if m.URL+m.Key != "" {
		out = append(out, m)
	}
	for _, address := range more {
		one := m
		if m.Type.Value == entity.ChannelPagerDuty {
			one.Key = address
		} else {
			one.URL = address
		}
		out = append(out, one)
	}
	return out, nil
}

// addresses are those of a rule's user groups. A group that isn't there is
// logged and told nothing.
func (n *Notifier) addresses(ctx context.Context, d delivery) ([]string, error) {
	names := map[string]string{}
	for _, g := range d.rule.Method.Groups {
		names[g] = g
	}
	resolved, err := n.texts(ctx, d, names, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range d.rule.Method.Groups {
		g, at, err := resolve.Group(ctx, n.Entities, d.execution.Scope, resolved.Texts[name])
		if err != nil && !hopeless(err) {
			return nil, err
		}
		log := n.Log.With("execution", d.execution.ID, "rule", d.rule.Known(), "group", resolved.Texts[name])
		if err != nil {
			log.WarnContext(ctx, "a user group wasn't told", "error", err)
			continue
		}
		found := g.Addresses(d.rule.Method.Type.Value)
		if len(found) == 0 {
			log.WarnContext(ctx, "a user group has no address of the channel", "channel", d.rule.Method.Type.Value)
		}
		for _, a := range found {
			if a = entity.QualifySecrets(a, at.Scope); !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out, nil
}
