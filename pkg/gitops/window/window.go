// Package window says when applications may be synced: by the windows of their
// project, which allow or deny it at times (semantics/gitops §13).
//
// It has no clock: the time is the caller's, and so is what is done with a sync that
// may not be.
package window

import (
	"slices"
	"time"

	"github.com/gobwas/glob"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/trigger/cron"
)

// The kinds of windows.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Window is a window of a project, read.
type Window struct {
	gitops.SyncWindow
	schedule                           *cron.Schedule
	duration                           time.Duration
	zone                               *time.Location
	applications, clusters, namespaces []*glob.Pattern
}

// Read reads a window. An error says which of its fields is wrong, what was found
// and what was expected.
func Read(w gitops.SyncWindow) (*Window, error) {
	out := &Window{SyncWindow: w, zone: time.UTC}
	if w.Kind != Allow && w.Kind != Deny {
		return nil, fault.New(fault.Invalid, "kind: found %q; want allow or deny", w.Kind)
	}
	var err error
	if out.schedule, err = cron.Parse(cron.Unix, w.Schedule); err != nil {
		return nil, fault.New(fault.Invalid, "schedule: %w", err)
	}
	if out.duration, err = time.ParseDuration(w.Duration); err != nil || out.duration <= 0 {
		return nil, fault.New(fault.Invalid, "duration: found %q; want a duration such as 1h30m", w.Duration)
	}
	if w.TimeZone != "" {
		if out.zone, err = time.LoadLocation(w.TimeZone); err != nil || w.TimeZone == "Local" {
			return nil, fault.New(fault.Invalid, "timeZone: found %q; want a name of the time zone database such as Europe/Amsterdam", w.TimeZone)
		}
	}
	for _, list := range []struct {
		name     string
		patterns []string
		into     *[]*glob.Pattern
	}{{"applications", w.Applications, &out.applications}, {"clusters", w.Clusters, &out.clusters}, {"namespaces", w.Namespaces, &out.namespaces}} {
		for i, pattern := range list.patterns {
			g, err := glob.Compile(pattern)
			if err != nil {
				return nil, fault.New(fault.Invalid, "%s[%d]: %q isn't a pattern: %w", list.name, i, pattern, err)
			}
			*list.into = append(*list.into, g)
		}
	}
	return out, nil
}

// Of are the windows that apply to an application. cluster has the name and the
// address of its destination, as far as they are known.
func Of(windows []*Window, app string, cluster gitops.Destination) []*Window {
	return slices.DeleteFunc(slices.Clone(windows), func(w *Window) bool { return !w.applies(app, cluster) })
}

// applies says whether a window is about an application: by one of its lists or, if
// it says so, by all that it has.
func (w *Window) applies(app string, to gitops.Destination) bool {
	var said []bool
	for _, list := range []struct {
		patterns []*glob.Pattern
		values   []string
	}{{w.applications, []string{app}}, {w.clusters, []string{to.Name, to.Server}}, {w.namespaces, []string{to.Namespace}}} {
		if len(list.patterns) == 0 {
			continue
		}
		said = append(said, slices.ContainsFunc(list.patterns, func(g *glob.Pattern) bool {
			return slices.ContainsFunc(list.values, func(v string) bool { return v != "" && g.Match(v) })
		}))
	}
	if w.UseAndOperator {
		return len(said) > 0 && !slices.Contains(said, false)
	}
	return slices.Contains(said, true)
}

// Active says whether a window is open at a time. It is from each moment of its
// schedule on for its duration.
func (w *Window) Active(at time.Time) bool {
	at = at.In(w.zone)
	next, ok := w.schedule.Next(at.Add(-w.duration))
	return ok && !next.After(at)
}

// Asked is a sync that is to go on.
type Asked struct {
	Manual  bool
	Started time.Time // zero: it hasn't begun
}

// Blocked says whether windows of an application forbid a sync at a time, and gives
// those that do; nil: none does.
func Blocked(windows []*Window, asked Asked, at time.Time) []*Window {
	blocking := closed(windows, at)
	all := func(has func(*Window) bool) bool {
		return !slices.ContainsFunc(blocking, func(w *Window) bool { return !has(w) })
	}
	switch {
	case len(blocking) == 0:
		return nil
	case asked.Manual && all(func(w *Window) bool { return w.ManualSync }):
		return nil
	case asked.Started.IsZero() || !all(func(w *Window) bool { return w.SyncOverrun }):
		return blocking
	case Blocked(windows, Asked{Manual: asked.Manual}, asked.Started) != nil: // as it should never have begun
		return blocking
	}
	return nil
}

// closed are the windows that are in the way: open ones that deny or, if there are
// windows that allow and none of them is open, those.
func closed(windows []*Window, at time.Time) []*Window {
	var denying, allowing []*Window
	open := false
	for _, w := range windows {
		active := w.Active(at)
		switch {
		case w.Kind == Deny && active:
			denying = append(denying, w)
		case w.Kind == Allow:
			open = open || active
			allowing = append(allowing, w)
		}
	}
	if len(denying) > 0 {
		return denying
	}
	if open {
		return nil
	}
	return allowing
}

// Edge is the next moment at which a window may open or close; zero: none does.
func Edge(windows []*Window, after time.Time) time.Time {
	var edge time.Time
	for _, w := range windows {
		there := after.In(w.zone)
		opens, ok := w.schedule.Next(there)
		if !ok {
			opens = time.Time{}
		}
		closes, ok := w.schedule.Next(there.Add(-w.duration))
		if ok {
			closes = closes.Add(w.duration)
		}
		for _, t := range []time.Time{opens, closes} {
			if t.After(after) && (edge.IsZero() || t.Before(edge)) {
				edge = t
			}
		}
	}
	return edge
}

// looks bounds how many edges are looked at for a moment without a window.
const looks = 1000

// Next is the next moment at which a sync may begin; zero: none was found.
func Next(windows []*Window, asked Asked, after time.Time) time.Time {
	for at, i := after, 0; i < looks; i++ {
		if at = Edge(windows, at); at.IsZero() {
			break
		}
		if Blocked(windows, asked, at) == nil {
			return at
		}
	}
	return time.Time{}
}
