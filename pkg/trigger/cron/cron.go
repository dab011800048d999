// Package cron reads schedules in the two dialects of Harness and says when
// they are due: UNIX with five fields, and QUARTZ with seconds, years and
// `? L W #` (semantics/pipeline §11.3).
//
// It is pure: the clock and what is started are the caller's.
package cron

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // Lambda's runtime and small images have no time zones
)

// The dialects, spelled as in the YAML. No dialect is Unix.
const (
	Unix   = "UNIX"
	Quartz = "QUARTZ"
)

// ParseAny reads an expression of which nobody says the dialect: five fields are
// UNIX's, where a question mark is as good as a star; more are QUARTZ's.
func ParseAny(text string) (*Schedule, error) {
	if fields := strings.Fields(text); len(fields) == 5 {
		for i, f := range fields {
			if f == "?" {
				fields[i] = "*"
			}
		}
		return Parse(Unix, strings.Join(fields, " "))
	}
	return Parse(Quartz, text)
}

// Schedule is an expression that was read.
type Schedule struct {
	second, minute, hour, month, year set
	days                              days
}

// firstYear and lastYear bound what a schedule can say.
const (
	firstYear = 1970
	lastYear  = 2199
)

// maxLength bounds an expression, in bytes.
const maxLength = 256

// Parse reads an expression.
func Parse(dialect, text string) (*Schedule, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("a schedule may have %d characters; this one has %d", maxLength, len(text))
	}
	fields := strings.Fields(strings.ToUpper(text))
	switch dialect {
	case "", Unix:
		if len(fields) != 5 {
			return nil, fmt.Errorf("the UNIX schedule %q has %d fields; want 5: minute hour day-of-month month day-of-week", text, len(fields))
		}
		return parse(append([]string{"0"}, append(fields, "*")...), unixDay)
	case Quartz:
		all, err := quartz(fields)
		if err != nil {
			return nil, fmt.Errorf("the QUARTZ schedule %q %w", text, err)
		}
		return parse(all, quartzDay)
	}
	return nil, fmt.Errorf("found the dialect %q; want %s or %s", dialect, Unix, Quartz)
}

// quartz gives the seven fields. Six are without the year; or, as Harness's
// documentation has it, without the seconds if the last is one.
func quartz(fields []string) ([]string, error) {
	switch len(fields) {
	case 6:
		last := fields[5]
		if len(last) >= 4 && last[0] >= '1' && last[0] <= '9' && last[:4] >= "1970" && last[:4] <= "2199" {
			return append([]string{"0"}, fields...), nil
		}
		return append(fields, "*"), nil
	case 7:
		return fields, nil
	}
	return nil, fmt.Errorf("has %d fields; want 6 or 7: second minute hour day-of-month month day-of-week [year]", len(fields))
}

func parse(f []string, weekday numbering) (*Schedule, error) {
	s := &Schedule{}
	for _, one := range []struct {
		name     string
		text     string
		into     *set
		low, top int
		names    []string
	}{
		{"second", f[0], &s.second, 0, 59, nil},
		{"minute", f[1], &s.minute, 0, 59, nil},
		{"hour", f[2], &s.hour, 0, 23, nil},
		{"month", f[4], &s.month, 1, 12, months()},
		{"year", f[6], &s.year, firstYear, lastYear, nil},
	} {
		var err error
		if *one.into, err = parseSet(one.text, one.low, one.top, one.names); err != nil {
			return nil, fmt.Errorf("the %s %w", one.name, err)
		}
	}
	var err error
	s.days, err = parseDays(f[3], f[5], weekday)
	return s, err
}

// Next is the first due time after t, in t's time zone; false if there is
// none. A time that the clock skips in spring isn't due; one that it shows
// twice in autumn is due once.
func (s *Schedule) Next(t time.Time) (time.Time, bool) {
	zone := t.Location()
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	for first := true; day.Year() <= lastYear; first = false {
		switch {
		case !s.year.has(day.Year()):
			day = time.Date(day.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case !s.month.has(int(day.Month())):
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case s.days.has(day):
			if due, ok := s.within(day, t, zone, first); ok {
				return due, true
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// within looks for a due time on one day, after t.
func (s *Schedule) within(day, t time.Time, zone *time.Location, today bool) (time.Time, bool) {
	for _, h := range s.hour.values() {
		if today && h < t.Hour()-1 { // an hour's grace: the clock may be set back
			continue
		}
		for _, m := range s.minute.values() {
			for _, sec := range s.second.values() {
				due := time.Date(day.Year(), day.Month(), day.Day(), h, m, sec, 0, zone)
				if due.After(t) && due.Hour() == h && due.Minute() == m {
					return due, true
				}
			}
		}
	}
	return time.Time{}, false
}
