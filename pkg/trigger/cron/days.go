package cron

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// numbering is how a dialect counts the days of the week.
type numbering struct {
	low, top int
	extended bool // knows ? L W #
}

var (
	unixDay   = numbering{low: 0, top: 7} // 0 and 7 are Sunday
	quartzDay = numbering{low: 1, top: 7, extended: true}
)

func weekdays() []string { return []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"} }

// days are the days of a schedule: those of the month, those of the week, or
// if both are restricted, either (Vixie's rule, for both dialects).
type days struct {
	month, week func(time.Time) bool // nil: not restricted
}

func (d days) has(day time.Time) bool {
	switch {
	case d.month == nil && d.week == nil:
		return true
	case d.month == nil:
		return d.week(day)
	case d.week == nil:
		return d.month(day)
	}
	return d.month(day) || d.week(day)
}

func parseDays(month, week string, n numbering) (days, error) {
	var d days
	var err error
	if !unrestricted(month, n) {
		if d.month, err = daysOfMonth(month, n); err != nil {
			return d, fmt.Errorf("the day of the month %w", err)
		}
	}
	if !unrestricted(week, n) {
		if d.week, err = daysOfWeek(week, n); err != nil {
			return d, fmt.Errorf("the day of the week %w", err)
		}
	}
	return d, nil
}

func unrestricted(text string, n numbering) bool { return text == "*" || n.extended && text == "?" }

func daysOfMonth(text string, n numbering) (func(time.Time) bool, error) {
	if n.extended {
		if back, ok := strings.CutPrefix(text, "L-"); ok {
			offset, err := value(back, 0, 30, nil)
			return func(t time.Time) bool { return t.Day() == lastOf(t)-offset }, err
		}
		switch text {
		case "L":
			return func(t time.Time) bool { return t.Day() == lastOf(t) }, nil
		case "LW", "WL":
			return func(t time.Time) bool { return t.Day() == nearestWorkday(t, lastOf(t)) }, nil
		}
		if day, ok := strings.CutSuffix(text, "W"); ok {
			wanted, err := value(day, 1, 31, nil)
			return func(t time.Time) bool { return wanted <= lastOf(t) && t.Day() == nearestWorkday(t, wanted) }, err
		}
	}
	s, err := parseSet(text, 1, 31, nil)
	return func(t time.Time) bool { return s.has(t.Day()) }, err
}

func daysOfWeek(text string, n numbering) (func(time.Time) bool, error) {
	if n.extended {
		if text == "L" {
			text = "SAT"
		}
		if day, ok := strings.CutSuffix(text, "L"); ok {
			wanted, err := value(day, n.low, n.top, weekdays())
			return func(t time.Time) bool { return n.number(t) == wanted && t.Day() > lastOf(t)-7 }, err
		}
		if day, nth, ok := strings.Cut(text, "#"); ok {
			wanted, err := value(day, n.low, n.top, weekdays())
			if err != nil {
				return nil, err
			}
			which, err := value(nth, 1, 5, nil)
			return func(t time.Time) bool { return n.number(t) == wanted && (t.Day()-1)/7+1 == which }, err
		}
	}
	s, err := parseSet(text, n.low, n.top, weekdays())
	if err == nil && n.low == 0 && s.has(7) && !s.has(0) {
		s.list = slices.Insert(s.list, 0, 0)
	}
	return func(t time.Time) bool { return s.has(n.number(t)) }, err
}

// number is a day's in the numbering.
func (n numbering) number(t time.Time) int { return int(t.Weekday()) + n.low }

// lastOf is the last day of t's month.
func lastOf(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// nearestWorkday is the day from Monday to Friday that is next to a day,
// within t's month.
func nearestWorkday(t time.Time, day int) int {
	last := lastOf(t)
	switch time.Date(t.Year(), t.Month(), day, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if day == 1 {
			return 3
		}
		return day - 1
	case time.Sunday:
		if day == last {
			return day - 2
		}
		return day + 1
	case time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday:
	}
	return day
}
