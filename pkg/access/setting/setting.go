// Package setting says what the settings of an account, of its organizations and of
// their projects come to.
//
// It is pure. Who reads the documents is pkg/access/grants, and who goes by a setting
// is whoever does what it is about.
package setting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// ID is the identifier of the document that has the settings of a scope: there is one
// in each.
const ID = "settings"

// Name is that of a setting, as documents have it.
type Name string

// The settings.
const (
	MaxTokenLifetime  Name = "maxTokenLifetime"
	AllowMarkAsFailed Name = "allowMarkStepFailed"
	EmailDomains      Name = "restrictEmailDomains"
	SessionInactivity Name = "sessionInactivity"
	SessionAbsolute   Name = "sessionAbsolute"
	BannerName        Name = "banner"
)

// Setting describes one.
type Setting struct {
	Name Name
	// OfAccount says that only an account has it. The others are inherited, and are only
	// made stricter within.
	OfAccount bool
	Default   string // what holds where nobody sets it, for people
	Doc       string
}

// All lists the settings.
func All() []Setting {
	return []Setting{
		{MaxTokenLifetime, false, "", "how long a new token of a person or of a service account lasts at most"},
		{AllowMarkAsFailed, false, "true", "whether people may mark running steps as failed"},
		{EmailDomains, true, "", "domains, of which users' mail addresses are"},
		{SessionInactivity, true, "", "how long nobody does anything before a session ends"},
		{SessionAbsolute, true, Shown(DefaultSession), "how long a session lasts"},
		{BannerName, true, "", "what people are told where they log in, and above the console"},
	}
}

// DefaultSession is how long a session lasts where nobody sets it.
const DefaultSession = 24 * time.Hour

// The bounds of times. With the shortest, people can still log in and set another.
const (
	MinToken      = time.Hour
	MaxToken      = 365 * 24 * time.Hour
	MinInactivity = 30 * time.Minute
	MaxInactivity = 72 * time.Hour
	MinSession    = time.Hour
	MaxSession    = 72 * time.Hour
)

// Settings are what a scope sets, or what the settings of scopes come to. Zero values
// are what nobody sets.
type Settings struct {
	MaxTokenLifetime  time.Duration
	MarkAsFailed      Choice
	EmailDomains      []string // in small letters
	SessionInactivity time.Duration
	SessionAbsolute   time.Duration
	Banner            Banner
}

// Choice is yes, no or neither.
type Choice string

// The choices.
const (
	Yes Choice = "true"
	No  Choice = "false"
)

// Level is how urgent a banner is.
type Level string

// The levels.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// MaxBanner is how many characters a banner has at most.
const MaxBanner = 512

// Banner is what people are told. Its zero value is none.
type Banner struct {
	Text  string `json:"text" doc:"One line or several, as plain text"`
	Level Level  `json:"level" enum:"info,warning,error"`
	// From and To are when it is shown; zero: from when it is saved, and for good.
	From time.Time `json:"-"`
	To   time.Time `json:"-"`
}

// At is the banner if it is shown at a time.
func (b Banner) At(now time.Time) *Banner {
	if b.Text == "" || now.Before(b.From) || !b.To.IsZero() && !now.Before(b.To) {
		return nil
	}
	return &b
}

// Text is what a setting is set to, for people; empty: it isn't set.
func (s Settings) Text(n Name) string {
	switch n {
	case MaxTokenLifetime:
		return Shown(s.MaxTokenLifetime)
	case AllowMarkAsFailed:
		return string(s.MarkAsFailed)
	case EmailDomains:
		return strings.Join(s.EmailDomains, ",")
	case SessionInactivity:
		return Shown(s.SessionInactivity)
	case SessionAbsolute:
		return Shown(s.SessionAbsolute)
	case BannerName:
		return s.Banner.Text
	}
	return ""
}

// Shown is a time as documents have it, such as 1d12h; empty: there is none.
func Shown(d time.Duration) string {
	var b strings.Builder
	if days := d / (24 * time.Hour); days > 0 {
		fmt.Fprintf(&b, "%dd", int64(days))
		d -= days * 24 * time.Hour
	}
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.of; n > 0 {
			fmt.Fprintf(&b, "%d%s", int64(n), u.name)
			d -= n * u.of
		}
	}
	return b.String()
}

// Of are the settings that hold in the last of some scopes, each within the one before
// it: of each setting the strictest, so that nobody within loosens what is set above,
// whatever was saved first.
func Of(around []Settings) Settings {
	var out Settings
	for i, s := range around {
		if i == 0 { // the account
			out = s
			continue
		}
		out.MaxTokenLifetime = shorter(out.MaxTokenLifetime, s.MaxTokenLifetime)
		if out.MarkAsFailed != No && s.MarkAsFailed != "" {
			out.MarkAsFailed = s.MarkAsFailed
		}
	}
	return out
}

func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Loosens are those that settings set looser than those above do, so that they would
// count for nothing.
func (s Settings) Loosens(above Settings) []Name {
	var out []Name
	if above.MaxTokenLifetime > 0 && s.MaxTokenLifetime > above.MaxTokenLifetime {
		out = append(out, MaxTokenLifetime)
	}
	if above.MarkAsFailed == No && s.MarkAsFailed == Yes {
		out = append(out, AllowMarkAsFailed)
	}
	return out
}

// Takes says whether somebody with a mail address may be a user. Who has none has
// none of another domain.
func (s Settings) Takes(mail string) bool {
	at := strings.LastIndexByte(mail, '@')
	if len(s.EmailDomains) == 0 || mail == "" {
		return true
	}
	return slices.Contains(s.EmailDomains, strings.ToLower(mail[at+1:]))
}

// Session is how long a session lasts.
func (s Settings) Session() time.Duration {
	if s.SessionAbsolute == 0 {
		return DefaultSession
	}
	return s.SessionAbsolute
}

// Holds is a setting as it holds in a scope.
type Holds struct {
	Name    Name   `json:"name"`
	Value   string `json:"value" doc:"What holds; empty: nothing"`
	Own     string `json:"own,omitempty" doc:"What the scope itself says; none: nothing"`
	From    string `json:"from,omitempty" doc:"The scope that says so, such as acme/default; none: nobody does, and it is as it is without"`
	Account bool   `json:"ofAccount" doc:"Whether only the account has it"`
	Doc     string `json:"doc"`
	Said    []Said `json:"said,omitempty" doc:"What each scope says that says something, the account first"`
}

// Said is what one scope says of a setting.
type Said struct {
	Scope string `json:"scope" doc:"The scope, such as acme/default"`
	Value string `json:"value"`
}

// Held lists the settings as they hold in the last of some scopes, with where each
// comes from. The scopes are those of the settings.
func Held(scopes []ref.Scope, around []Settings) []Holds {
	var out []Holds
	holds := Of(around)
	for _, one := range All() {
		h := Holds{Name: one.Name, Value: holds.Text(one.Name), Account: one.OfAccount, Doc: one.Doc, Own: around[len(around)-1].Text(one.Name)}
		at := slices.IndexFunc(around, func(s Settings) bool { return h.Value != "" && s.Text(one.Name) == h.Value })
		if at >= 0 {
			h.From = scopes[at].String()
		} else {
			h.Value = one.Default
		}
		for i, s := range around {
			if text := s.Text(one.Name); text != "" {
				h.Said = append(h.Said, Said{Scope: scopes[i].String(), Value: text})
			}
		}
		out = append(out, h)
	}
	return out
}
