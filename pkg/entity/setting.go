package entity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/printable"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// maxDomains is how many domains users' mail addresses may be of.
const maxDomains = 100

// setting decodes what a scope sets. It has one document of them, so that two who set
// something at once don't do so past each other.
func (d roles) setting(v yamldoc.Value, e *Entity) *setting.Settings {
	d.Strict() // who misspells a limit has none
	s := &setting.Settings{}
	own := d.own(e)
	identifier := own["identifier"]
	own["identifier"] = func(v yamldoc.Value) {
		if identifier(v); e.Identifier.Set && e.Identifier.Value != setting.ID {
			d.Errorf(v, document.BadIdentifier, "found %q; a scope has one document of settings, and its identifier is %s", yamldoc.Shorten(e.Identifier.Value), setting.ID)
		}
	}
	keys := document.Keys{
		string(setting.MaxTokenLifetime): d.lasting(&s.MaxTokenLifetime, setting.MinToken, setting.MaxToken),
		string(setting.AllowMarkAsFailed): func(v yamldoc.Value) {
			f := d.Bool(v)
			if d.Plain(v, f.Expr, "true or false"); f.Set && f.Expr == "" {
				s.MarkAsFailed = map[bool]setting.Choice{true: setting.Yes, false: setting.No}[f.Value]
			}
		},
		string(setting.EmailDomains):      func(v yamldoc.Value) { d.emailDomains(v, &s.EmailDomains) },
		string(setting.SessionInactivity): d.lasting(&s.SessionInactivity, setting.MinInactivity, setting.MaxInactivity),
		string(setting.SessionAbsolute):   d.lasting(&s.SessionAbsolute, setting.MinSession, setting.MaxSession),
		string(setting.BannerName):        func(v yamldoc.Value) { d.banner(v, &s.Banner) },
		"mandatoryWebhookSecret": func(v yamldoc.Value) {
			f := d.Bool(v)
			d.Plain(v, f.Expr, "true")
			d.Without(v, "false", f.Set && f.Expr == "" && !f.Value, "no delivery is taken that proves nothing")
		},
	}
	for _, one := range setting.All() {
		if one.OfAccount && e.Scope.Org != "" {
			keys[string(one.Name)] = d.ofAccount(keys[string(one.Name)])
		}
	}
	d.Fields(v, document.Merge(own, keys))
	d.Need(v, "identifier", "name")
	return s
}

// ofAccount refuses what only an account sets.
func (d roles) ofAccount(decode document.Rule) document.Rule {
	return func(v yamldoc.Value) {
		decode(v)
		d.Errorf(v.AtKey(), wrongScope, "%s is set for the whole account; want it in the account's settings, saved with --org ''", v.Key)
	}
}

// lasting decodes a time within bounds.
func (d roles) lasting(into *time.Duration, least, most time.Duration) document.Rule {
	return func(v yamldoc.Value) {
		want := fmt.Sprintf("from %s to %s", setting.Shown(least), setting.Shown(most))
		f := d.String(v)
		if d.Plain(v, f.Expr, want); f.Expr != "" {
			return
		}
		took, err := yamldoc.ParseDuration(f.Value)
		if err != nil || took < least || took > most {
			d.Errorf(v, document.WrongValue, "found %q; want %s", yamldoc.Shorten(f.Value), want)
			return
		}
		*into = took
	}
}

// emailDomains decodes of which domains mail addresses are.
func (d roles) emailDomains(v yamldoc.Value, into *[]string) {
	var found []string
	logins(d).words(&found, "a domain such as example.com", domain.MatchString)(v)
	d.Filled(v, document.WrongValue, "found nothing, so that nobody could be a user; want domains, or no key")
	for _, one := range found {
		if one = strings.ToLower(one); !slices.Contains(*into, one) {
			*into = append(*into, one)
		}
	}
	if len(*into) > maxDomains {
		d.Errorf(v, document.WrongValue, "found %d domains; want at most %d", len(*into), maxDomains)
	}
}

// banner decodes what people are told.
func (d roles) banner(v yamldoc.Value, into *setting.Banner) {
	b := setting.Banner{Level: setting.Info}
	moment := func(to *time.Time) document.Rule {
		return func(v yamldoc.Value) {
			d.Spelled(v, document.WrongValue, func(text string) (err error) {
				if *to, err = time.Parse(time.RFC3339, text); err != nil {
					return fmt.Errorf("found %q; want a time such as 2026-12-24T18:00:00Z", yamldoc.Shorten(text))
				}
				return nil
			})
		}
	}
	var level yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"text": func(v yamldoc.Value) {
			b.Text = d.Spelled(v, document.WrongValue, func(text string) error {
				switch {
				case strings.TrimSpace(text) == "":
					return errors.New("found an empty text; want one, or no banner")
				case len([]rune(text)) > setting.MaxBanner:
					return fmt.Errorf("found %d characters; want at most %d", len([]rune(text)), setting.MaxBanner)
				case !printable.Clean(strings.ReplaceAll(text, "\n", "")):
					return errors.New("found characters that can't be seen; want those that can")
				}
				return nil
			}).Value
		},
		"level": d.Literal(&level, string(setting.Info), string(setting.Warning), string(setting.Error)),
		"from":  moment(&b.From),
		"to":    moment(&b.To),
	})
	d.Need(v, "text")
	if level.Set {
		b.Level = setting.Level(level.Value)
	}
	if !b.From.IsZero() && !b.To.IsZero() && !b.From.Before(b.To) {
		d.Errorf(v, document.WrongValue, "found a banner that ends before it begins; want to after from")
	}
	*into = b
}
