// Package email is the step type Email: one message through the
// installation's mail server (semantics/pipeline §7.6).
//
// A delegate sends it, because the step takes delegate selectors: mail servers
// commonly take mail only from the network that a delegate stands in. The
// step has no outputs, and doesn't know whether the mail arrives. Messages
// about an execution as a whole are pkg/notify's.
package email

import (
	netmail "net/mail"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "Email", New: decode} }

// Spec is the step's spec.
type Spec struct {
	To yamldoc.Field[string] // addresses, separated by commas
	CC yamldoc.Field[string]
	// ToGroups and CCGroups are user groups, whose members get the mail.
	ToGroups []string
	CCGroups []string
	Subject  yamldoc.Field[string]
	Body     yamldoc.Field[string] // HTML
	// FireAndForget says that the step succeeds even if no server takes the mail.
	FireAndForget yamldoc.Field[bool]
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"to":                func(e yamldoc.Value) { s.To = addresses(e, d) },
		"cc":                func(e yamldoc.Value) { s.CC = addresses(e, d) },
		"subject":           d.Text(&s.Subject),
		"body":              d.Text(&s.Body),
		"fireAndForget":     d.Flag(&s.FireAndForget),
		"toUserGroups":      func(e yamldoc.Value) { s.ToGroups = groups(e, d) },
		"ccUserGroups":      func(e yamldoc.Value) { s.CCGroups = groups(e, d) },
		"inputVariables":    func(e yamldoc.Value) { step.Variables(d, e, step.TypeString, step.TypeNumber, step.TypeSecret) }, // read by expressions, <+spec.inputVariables.x>
		"delegateSelectors": d.Words(nil),                                                                                      // the plan's
	})
	d.Missing(v, "subject")
	if v.Is(yamldoc.Mapping) && step.Text(s.To) == "" && step.Text(s.CC) == "" && len(s.ToGroups)+len(s.CCGroups) == 0 {
		d.Errorf(v, "WRONG_VALUE", "nobody gets the mail; want addresses in to or cc, or user groups")
	}
	return s
}

// groups reads references to user groups.
func groups(v yamldoc.Value, d *document.Decoder) []string {
	list := step.Texts(v, d)
	for _, name := range list {
		switch {
		case strings.Contains(name, "<+"):
		case plan.EverybodysGroup(name):
			d.Unsupported(v, "who is in %s isn't known; name a group that was saved", name)
		default:
			if _, err := ref.Parse(name, ref.Scope{Org: "org", Project: "project"}); err != nil {
				d.Errorf(v, "WRONG_VALUE", "user group %s", err)
			}
		}
	}
	return list
}

// addresses reads a list of addresses that is one text.
func addresses(v yamldoc.Value, d *document.Decoder) yamldoc.Field[string] {
	f := d.String(v)
	for _, a := range split(f.Value) {
		if _, err := netmail.ParseAddress(a); err != nil {
			d.Errorf(v, "WRONG_VALUE", "%q isn't an e-mail address", a)
		}
	}
	return f
}

// split takes a list apart at its commas.
func split(list string) []string {
	var out []string
	for _, a := range strings.Split(list, ",") {
		if a = strings.TrimSpace(a); a != "" {
			out = append(out, a)
		}
	}
	return out
}

// Start gives the message to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, err := in.MailServer()
	if err != nil {
		return step.Action{}, err
	}
	p := mail.Task{Server: server, Subject: step.Text(s.Subject), HTML: step.Text(s.Body), FireAndForget: s.FireAndForget.Value}
	if p.To, err = everybody(step.Text(s.To), s.ToGroups, in); err != nil {
		return step.Action{}, err
	}
	if p.CC, err = everybody(step.Text(s.CC), s.CCGroups, in); err != nil {
		return step.Action{}, err
	}
	if len(p.To)+len(p.CC) == 0 {
		return step.Action{}, fault.New(fault.Invalid, "nobody gets the mail: to and cc are empty, and so are their user groups of people with addresses")
	}
	return step.Action{Task: &step.Task{Kind: task.KindMail, Payload: p, Selectors: in.Selectors}}, nil
}

// everybody is a list of addresses with those of user groups' members.
func everybody(list string, groups []string, in step.In) ([]string, error) {
	all := split(list)
	for _, name := range groups {
		members, err := in.GroupMails(name)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}
