package calendar

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Entry is a freeze as people look at it.
type Entry struct {
	Freeze  string    `json:"freeze" doc:"Its identifier"`
	Name    string    `json:"name"`
	Org     string    `json:"org,omitempty"`
	Project string    `json:"project,omitempty"`
	Enabled bool      `json:"enabled"`
	Active  bool      `json:"active" doc:"It is enabled, and a window is open now"`
	Start   time.Time `json:"start,omitzero" doc:"Of the window that is open, or of the next; absent: there is none within ten years"`
	End     time.Time `json:"end,omitzero" doc:"Of the same window"`
}

// Freezes are those that count in a scope: its own and those of the scopes around
// it, the outermost first.
type Freezes struct {
	Freezes []Entry `json:"freezes" nullable:"false"`
}

// List gives the freezes that count in a scope.
func (r *Reader) List(ctx context.Context, scope ref.Scope, now time.Time) (Freezes, error) {
	all, err := r.All(ctx, scope)
	if err != nil {
		return Freezes{}, err
	}
	out := make([]Entry, len(all))
	for i, f := range all {
		out[i] = Entry{Freeze: f.ID, Name: f.Name, Org: f.Scope.Org, Project: f.Scope.Project, Enabled: f.Enabled}
		if o, ok := f.Next(now); ok {
			out[i].Start, out[i].End = o.Start, o.End
			out[i].Active = f.Enabled && !o.Start.After(now)
		}
	}
	return Freezes{out}, nil
}

// maxEvents bounds the windows of one freeze in a feed.
const maxEvents = 500

// Feed gives the windows of the enabled freezes of a scope and of those around
// it as a calendar (RFC 5545), from now until to.
func (r *Reader) Feed(ctx context.Context, scope ref.Scope, now, to time.Time) ([]byte, error) {
	freezes, err := r.Around(ctx, scope)
	if err != nil {
		return nil, err
	}
	var b feed
	b.line("BEGIN:VCALENDAR")
	b.line("VERSION:2.0")
	b.line("PRODID:-//Slipway//Deployment freezes//EN")
	b.text("X-WR-CALNAME", "Deployment freezes of "+scope.String())
	for _, f := range freezes {
		for _, o := range f.Between(now, to, maxEvents) {
			b.line("BEGIN:VEVENT")
			b.text("UID", fmt.Sprintf("%d-%s@%s", o.Start.Unix(), f.ID, strings.ReplaceAll(f.Scope.String(), "/", ".")))
			b.line("DTSTAMP:" + utc(now))
			b.line("DTSTART:" + utc(o.Start))
			b.line("DTEND:" + utc(o.End))
			b.text("SUMMARY", "Freeze: "+f.Name)
			b.text("DESCRIPTION", describe(f))
			b.line("END:VEVENT")
		}
	}
	b.line("END:VCALENDAR")
	return []byte(b.String()), nil
}

// describe says whom a freeze concerns.
func describe(f freeze.Freeze) string {
	rules := make([]string, len(f.Rules))
	for i, r := range f.Rules {
		rules[i] = r.Name
	}
	return fmt.Sprintf("Deployment freeze %s of %s: %s", f.ID, f.Scope, strings.Join(rules, ", "))
}

func utc(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// feed is a calendar in the making.
type feed struct{ strings.Builder }

// escapes are what a text has in place of what has a meaning (RFC 5545, 3.3.11).
var escapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", "")

func (b *feed) text(name, value string) { b.line(name + ":" + escapes.Replace(value)) }

// line writes a line, which goes on in the next after 75 octets, never within a
// character (RFC 5545, 3.1).
func (b *feed) line(text string) {
	room := 75
	for _, r := range text {
		c := string(r)
		if room < len(c) {
			b.WriteString("\r\n ")
			room = 74
		}
		b.WriteString(c)
		room -= len(c)
	}
	b.WriteString("\r\n")
}
