package entity

import (
	"net/mail"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// UserGroup is people who are asked together, by the names that the bearers of
// tokens have (semantics/entities §13).
type UserGroup struct {
	Users []string
	Ways  []GroupWay
	Link  sso.Link // by which an identity provider names the members; zero: Users are they
	// Directory is what a directory says of the group. One that is linked has none.
	Directory sso.Provisioned
}

// GroupWay is a way in which a group as such is told something.
type GroupWay struct {
	Channel string // ChannelEmail, ChannelSlack, ChannelMSTeams or ChannelPagerDuty
	Address string // an address, a webhook's URL or an integration key; may name a secret
	Members bool   // Email: each user gets the mail, too
}

func (d settings) userGroup(v yamldoc.Value, e *Entity) *UserGroup {
	g := &UserGroup{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"users":      func(v yamldoc.Value) { g.add(d, v) },
		"userEmails": func(v yamldoc.Value) { g.add(d, v) },
		"notificationConfigs": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				g.Ways = append(g.Ways, d.groupWay(item))
			}
		},
	}, d.linked(v, g), roles(d).directory(v, &g.Directory, false)))
	d.Need(v, "identifier", "name")
	if g.Link.Provider != "" { // whose members are those whom the provider names at logins
		if v.Node.Get("scim") != nil {
			d.Errorf(document.Child(v, "scim"), document.Ambiguous, "the group is linked to a login provider, which names its members; want the link, or what a directory says over SCIM")
		}
		g.Directory = sso.Provisioned{}
	}
	return g
}

// linked are the keys by which an identity provider names a group's members
// (semantics/entities §13).
func (d settings) linked(v yamldoc.Value, g *UserGroup) document.Keys {
	var on yamldoc.Field[bool]
	var typ, provider, id, name yamldoc.Field[string]
	group := document.Peek(v, "ssoGroupId")
	if group == "" {
		group = document.Peek(v, "ssoGroupName")
	}
	by := document.Peek(v, "linkedSsoId")
	linked := document.Peek(v, "ssoLinked") == "true"
	if linked {
		g.Link = sso.Link{Provider: by, Group: group}
	}
	unlinked := func(rule document.Rule) document.Rule {
		return func(v yamldoc.Value) {
			if rule(v); !linked && v.Node.Value != "" {
				d.Errorf(v, document.WrongValue, "the group isn't linked to a provider, so that this would count for nothing; want ssoLinked: true with it")
			}
		}
	}
	return document.Keys{
		"ssoLinked": func(at yamldoc.Value) {
			on = d.Bool(at)
			d.Plain(at, on.Expr, "true or false")
			if linked {
				if by == "" || document.Peek(v, "linkedSsoType") == "" {
					d.Errorf(at, document.MissingKey, "the group is linked, and nothing says by whom; want linkedSsoId and linkedSsoType")
				}
				if group == "" {
					d.Errorf(at, document.MissingKey, "the group is linked, and nothing says what the provider calls it; want ssoGroupId")
				}
			}
		},
		"linkedSsoId": unlinked(func(at yamldoc.Value) {
			provider = d.Spelled(at, document.BadReference, func(id string) error { return ref.CheckID(ref.LoginProvider, id) })
			if linked && provider.Set {
				roles(d).names(at, ref.LoginProvider, ref.Ref{Scope: ref.Scope{Account: d.Scope.Account}, ID: provider.Value})
			}
		}),
		"linkedSsoType":        unlinked(d.Supported(&typ, "a group linked by", []string{sso.OIDC, sso.SAML, sso.LDAP}, "OAUTH")),
		"linkedSsoDisplayName": unlinked(d.Text(nil)),
		"ssoGroupId":           unlinked(d.PlainText(&id, "what the provider calls the group")),
		"ssoGroupName":         unlinked(d.PlainText(&name, "what the provider calls the group")),
	}
}

// groupWay decodes one of notificationConfigs (semantics/entities §13).
func (d settings) groupWay(v yamldoc.Value) GroupWay {
	var w GroupWay
	var typ yamldoc.Field[string]
	all := document.Keys{"type": d.Literal(&typ, "EMAIL", "SLACK", "MSTEAMS", "PAGERDUTY")}
	needed := ""
	switch document.Peek(v, "type") {
	case "EMAIL":
		w.Channel = ChannelEmail
		all["groupEmail"] = notifications(d).address(&w.Address)
		all["sendEmailToAllUsers"] = notifications(d).constant(func(v yamldoc.Value) { w.Members = d.Bool(v).Value })
	case "SLACK":
		w.Channel, needed = ChannelSlack, "slackWebhookUrl"
	case "MSTEAMS":
		w.Channel, needed = ChannelMSTeams, "microsoftTeamsWebhookUrl"
	case "PAGERDUTY":
		w.Channel, needed = ChannelPagerDuty, "pagerDutyKey"
	}
	if needed != "" {
		all[needed] = notifications(d).address(&w.Address)
	}
	d.Fields(v, all)
	d.Need(v, "type")
	switch {
	case needed != "":
		d.Need(v, needed)
	case w.Channel == ChannelEmail && w.Address == "" && !w.Members:
		d.Errorf(v, document.MissingKey, "nobody gets the mail; want groupEmail, or sendEmailToAllUsers: true")
	}
	return w
}

// Addresses are those that the group is told at by a channel: its own ways.
// Mail that a group says nothing about goes to its users, as far as their
// names are addresses.
func (g *UserGroup) Addresses(channel string) []string {
	var out []string
	own, members := false, false
	for _, w := range g.Ways {
		if w.Channel != channel {
			continue
		}
		own, members = true, members || w.Members
		if w.Address != "" {
			out = append(out, w.Address)
		}
	}
	if members || !own && channel == ChannelEmail {
		out = append(out, g.Mails()...)
	}
	return out
}

// Mails are the names of users that are addresses.
func (g *UserGroup) Mails() []string {
	var out []string
	for _, u := range g.Users {
		if _, err := mail.ParseAddress(u); err == nil {
			out = append(out, u)
		}
	}
	return out
}

func (g *UserGroup) add(d settings, v yamldoc.Value) {
	for item := range d.Items(v) {
		f := d.String(item)
		d.Plain(item, f.Expr, "a user's name")
		switch {
		case f.Expr != "":
		case strings.TrimSpace(f.Value) == "":
			d.Errorf(item, document.WrongValue, "found an empty text; want a user's name")
		default:
			g.Users = append(g.Users, f.Value)
		}
	}
}

// Has says whether a user is in the group. Case says nothing.
func (g *UserGroup) Has(user string) bool {
	for _, u := range g.Users {
		if strings.EqualFold(u, user) {
			return true
		}
	}
	return false
}
