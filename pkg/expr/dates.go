package expr

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Dates and times are texts in ISO 8601; the plus methods work on texts that
// are one (semantics/pipeline §3.4).

// dateMethod finds plusDays and its like.
func dateMethod(name string) (methodFunc, bool) {
	switch name {
	case "plusYears":
		return plusDate(func(t time.Time, n int) time.Time { return plusMonths(t, 12*n) }), true
	case "plusMonths":
		return plusDate(plusMonths), true
	case "plusWeeks":
		return plusDate(func(t time.Time, n int) time.Time { return t.AddDate(0, 0, 7*n) }), true
	case "plusDays":
		return plusDate(func(t time.Time, n int) time.Time { return t.AddDate(0, 0, n) }), true
	case "plusHours":
		return plusTime(time.Hour), true
	case "plusMinutes":
		return plusTime(time.Minute), true
	case "plusSeconds":
		return plusTime(time.Second), true
	case "plusNanos":
		return plusTime(time.Nanosecond), true
	}
	return methodFunc{}, false
}

func plusDate(add func(t time.Time, n int) time.Time) methodFunc {
	const most = 10_000 * 366 // days between the first and the last date that can be written
	return plus(func(t time.Time, layout string, n int) (time.Time, error) {
		if n < -most || n > most {
			return t, fmt.Errorf("%d is too far away", n)
		}
		return add(t, n), nil
	})
}

func plusTime(unit time.Duration) methodFunc {
	return plus(func(t time.Time, layout string, n int) (time.Time, error) {
		most := int(math.MaxInt64 / unit)
		switch {
		case layout == time.DateOnly:
			return t, errors.New("a date without a time has no hours")
		case n < -most || n > most:
			return t, fmt.Errorf("%d is too far away", n)
		}
		return t.Add(time.Duration(n) * unit), nil
	})
}

func plus(add func(t time.Time, layout string, n int) (time.Time, error)) methodFunc {
	return methodFunc{1, 1, func(_ *evaluator, on Value, args []Value) (Value, error) {
		n, err := intArg(args[0])
		if err != nil {
			return Null(), err
		}
		t, layout, err := parseTime(on.text)
		if err != nil {
			return Null(), err
		}
		if t, err = add(t, layout, n); err != nil {
			return Null(), err
		}
		if t.Year() < 0 || t.Year() > 9999 {
			return Null(), fmt.Errorf("the year %d isn't between 0 and 9999", t.Year())
		}
		return String(t.Format(layout)), nil
	}}
}

func parseTime(s string) (time.Time, string, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, layout, nil
		}
	}
	return time.Time{}, "", fmt.Errorf("%s isn't a date or time in ISO 8601", excerpt(s, 0))
}

// plusMonths keeps to the month: a month after 31 January is the last day of
// February, as in Java.
func plusMonths(t time.Time, n int) time.Time {
	first := t.AddDate(0, 0, 1-t.Day())
	first = first.AddDate(0, n, 0)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// now asks the Scope for the time: text in RFC 3339, or milliseconds.
func (e *evaluator) now() (time.Time, error) {
	v, err := e.scope.Call("currentTime", nil)
	if err != nil {
		return time.Time{}, fromScope(-1, err)
	}
	if ms, ok := v.Int(); ok {
		return time.UnixMilli(ms).UTC(), nil
	}
	t, _, err := parseTime(v.Text())
	return t, err
}
