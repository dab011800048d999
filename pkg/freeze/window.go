package freeze

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Every is how a window recurs.
type Every string

// The recurrences. The zero value: the window is there once.
const (
	Once    Every = ""
	Daily   Every = "Daily"
	Weekly  Every = "Weekly"
	Monthly Every = "Monthly"
	Yearly  Every = "Yearly"
)

// Window is a span of time in a zone, which may recur. Its times are wall
// times: what clocks in the zone show, written as if they were UTC.
type Window struct {
	Zone  *time.Location
	Start time.Time
	// End is a wall time, so that a window from 9 to 5 lasts so on the days on
	// which clocks change, too. Zero: it lasts Duration, by a stopwatch.
	End      time.Time
	Duration time.Duration
	Every    Every
	Value    int       // every so many days, weeks, months or years; at least 1
	Until    time.Time // no occurrence starts after this wall time; zero: there is no last one
}

// Occurrence is one time at which a window is open: from Start until before End.
type Occurrence struct{ Start, End time.Time }

// Shortest is how long a window lasts at least.
const Shortest = 30 * time.Minute

// horizon is how far ahead an occurrence is looked for.
const horizon = 10 * 366 * 24 * time.Hour

// MaxValue is the most days, weeks, months or years between two occurrences.
const MaxValue = 999

// slack is more than any change of a zone's clock moves a wall time.
const slack = 48 * time.Hour

// Next is the first occurrence that ends after a time: the one that is open,
// or else the next within ten years.
func (w Window) Next(now time.Time) (Occurrence, bool) {
	wall := wallOf(now, w.Zone)
	for i := w.index(wall.Add(-w.length() - slack)); ; i++ {
		start, there := w.start(i)
		switch {
		case i > 0 && w.Every == Once, !w.Until.IsZero() && start.After(w.Until), start.After(wall.Add(horizon)):
			return Occurrence{}, false
		case !there:
			continue
		}
		if o := w.occurrence(start); o.End.After(now) {
			return o, true
		}
	}
}

// length is what clocks show to have passed at the end.
func (w Window) length() time.Duration {
	if w.End.IsZero() {
		return w.Duration
	}
	return w.End.Sub(w.Start)
}

func (w Window) occurrence(start time.Time) Occurrence {
	o := Occurrence{Start: instant(start, w.Zone)}
	if w.End.IsZero() {
		o.End = o.Start.Add(w.Duration)
	} else {
		o.End = instant(start.Add(w.length()), w.Zone)
	}
	return o
}

const day = 24 * time.Hour

// index is that of an occurrence that doesn't start after a wall time, or 0.
func (w Window) index(wall time.Time) int {
	var passed int
	days := int((wall.Unix() - w.Start.Unix()) / int64(day/time.Second)) // a Duration ends at 292 years
	switch w.Every {
	case Daily:
		passed = days
	case Weekly:
		passed = days / 7
	case Monthly:
		passed = (wall.Year()-w.Start.Year())*12 + int(wall.Month()-w.Start.Month()) - 1
	case Yearly:
		passed = wall.Year() - w.Start.Year() - 1
	case Once:
	}
	return max(0, passed/max(1, w.Value))
}

// start is the wall time at which an occurrence starts. A month without the
// day has none (RFC 5545, 3.3.10); the time then is one after its last day.
func (w Window) start(i int) (at time.Time, there bool) {
	n := i * max(1, w.Value)
	switch w.Every {
	case Daily:
		return w.Start.AddDate(0, 0, n), true
	case Weekly:
		return w.Start.AddDate(0, 0, 7*n), true
	case Monthly:
		at = w.Start.AddDate(0, n, 0)
	case Yearly:
		at = w.Start.AddDate(n, 0, 0)
	case Once:
		return w.Start, true
	}
	return at, at.Day() == w.Start.Day()
}

// wallOf is what clocks in a zone show.
func wallOf(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instant is when clocks in a zone show a wall time: the first time if they do
// twice, and the end of the gap if they skip it.
func instant(wall time.Time, zone *time.Location) time.Time {
	early, late := shown(wall, wall.Add(-slack/2), zone), shown(wall, wall.Add(slack/2), zone)
	if late.Before(early) {
		early, late = late, early
	}
	for _, t := range []time.Time{early, late} {
		if wallOf(t, zone).Equal(wall) {
			return t
		}
	}
	if _, end := early.In(zone).ZoneBounds(); !end.IsZero() {
		return end.UTC()
	}
	return late
}

// shown is the instant of a wall time by the offset that a zone has at another.
func shown(wall, at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return wall.Add(-time.Duration(offset) * time.Second)
}

// layout is how documents write wall times.
const layout = "2006-01-02 03:04 PM"

// ParseWall reads a wall time such as "2023-07-03 10:08 AM".
func ParseWall(text string) (time.Time, error) {
	t, err := time.Parse(layout, text)
	if err != nil || t.Format(layout) != text {
		return time.Time{}, fmt.Errorf("found %q; want a time such as 2023-07-03 10:08 AM", text)
	}
	return t, nil
}

// ParseZone reads the name of a time zone.
func ParseZone(text string) (*time.Location, error) {
	zone, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return nil, fmt.Errorf("found %q; want a time zone such as America/Los_Angeles", text)
	}
	return zone, nil
}

// longest keeps what is added to a time within what times can hold.
const longest = 10 * 366 * day

// ParseDuration reads how long a window lasts, such as 2d or 1h 30m.
func ParseDuration(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'w': 7 * day, 'd': day, 'h': time.Hour, 'm': time.Minute}
	var sum time.Duration
	for part := range strings.FieldsSeq(text) {
		for part != "" {
			digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
			n, err := strconv.Atoi(part[:digits])
			if err != nil || digits == len(part) || units[part[digits]] == 0 {
				return 0, fmt.Errorf("found %q; want a duration in w, d, h and m such as 2d or 1h 30m", text)
			}
			unit := units[part[digits]]
			if n > int(longest/unit) || sum+time.Duration(n)*unit > longest {
				return 0, fmt.Errorf("found %q; want at most 3660d", text)
			}
			sum, part = sum+time.Duration(n)*unit, part[digits+1:]
		}
	}
	if sum < Shortest {
		return 0, fmt.Errorf("found %q; a window lasts 30m or longer", text)
	}
	return sum, nil
}
