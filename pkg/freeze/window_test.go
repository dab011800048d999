package freeze

import (
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := ParseZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func wall(t *testing.T, text string) time.Time {
	t.Helper()
	w, err := ParseWall(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestNext goes through the changes of clocks of five zones.
func TestNext(t *testing.T) {
	t.Parallel()
	const (
		angeles, berlin, howe = "America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe"
		apia, sao             = "Pacific/Apia", "America/Santiago"
	)
	for _, c := range []struct {
		name, zone, start, end, duration string
		every                            Every
		value                            int
		until, now                       string
		wantStart, wantEnd               string // empty: none
	}{
		{name: "once_before", zone: angeles, start: "2023-07-03 10:08 AM", duration: "2d", now: "2023-07-01T00:00:00Z", wantStart: "2023-07-03T17:08:00Z", wantEnd: "2023-07-05T17:08:00Z"},
		{name: "once_at_the_end_is_over", zone: angeles, start: "2023-07-03 10:08 AM", duration: "2d", now: "2023-07-05T17:08:00Z"},
		{name: "gap_moves_to_its_end", zone: angeles, start: "2024-03-01 02:30 AM", duration: "30m", every: Daily, now: "2024-03-10T09:00:00Z", wantStart: "2024-03-10T10:00:00Z", wantEnd: "2024-03-10T10:30:00Z"},
		{name: "overlap_is_its_first", zone: angeles, start: "2024-11-01 01:30 AM", duration: "30m", every: Daily, now: "2024-11-03T08:00:00Z", wantStart: "2024-11-03T08:30:00Z", wantEnd: "2024-11-03T09:00:00Z"},
		{name: "a_duration_is_by_the_stopwatch", zone: berlin, start: "2024-03-30 12:00 PM", duration: "1d", now: "2024-03-30T12:00:00Z", wantStart: "2024-03-30T11:00:00Z", wantEnd: "2024-03-31T11:00:00Z"},
		{name: "an_end_is_by_the_clock", zone: berlin, start: "2024-03-30 12:00 PM", end: "2024-03-31 12:00 PM", now: "2024-03-30T12:00:00Z", wantStart: "2024-03-30T11:00:00Z", wantEnd: "2024-03-31T10:00:00Z"},
		{name: "a_recurring_end_keeps_the_clock", zone: berlin, start: "2024-10-01 09:00 PM", end: "2024-10-02 06:00 AM", every: Daily, now: "2024-10-26T20:00:00Z", wantStart: "2024-10-26T19:00:00Z", wantEnd: "2024-10-27T05:00:00Z"},
		{name: "half_an_hour_of_gap", zone: howe, start: "2024-10-01 02:15 AM", duration: "1h", every: Daily, now: "2024-10-05T15:00:00Z", wantStart: "2024-10-05T15:30:00Z", wantEnd: "2024-10-05T16:30:00Z"},
		{name: "half_an_hour_of_overlap", zone: howe, start: "2024-04-01 01:45 AM", duration: "1h", every: Daily, now: "2024-04-06T14:00:00Z", wantStart: "2024-04-06T14:45:00Z", wantEnd: "2024-04-06T15:45:00Z"},
		{name: "a_day_that_was_skipped", zone: apia, start: "2011-12-30 12:00 PM", duration: "1h", now: "2011-12-30T00:00:00Z", wantStart: "2011-12-30T10:00:00Z", wantEnd: "2011-12-30T11:00:00Z"},
		{name: "midnight_in_a_gap", zone: sao, start: "2024-09-01 12:00 AM", duration: "1d", every: Weekly, now: "2024-09-08T03:00:00Z", wantStart: "2024-09-08T04:00:00Z", wantEnd: "2024-09-09T04:00:00Z"},
		{name: "since_two_thousand_years", zone: berlin, start: "0024-01-01 08:00 AM", duration: "1h", every: Daily, now: "2024-01-02T00:00:00Z", wantStart: "2024-01-02T07:00:00Z", wantEnd: "2024-01-02T08:00:00Z"},
		{name: "every_second_week", zone: berlin, start: "2024-01-01 08:00 AM", duration: "1h", every: Weekly, value: 2, now: "2024-01-02T00:00:00Z", wantStart: "2024-01-15T07:00:00Z", wantEnd: "2024-01-15T08:00:00Z"},
		{name: "the_31st_is_skipped", zone: berlin, start: "2024-01-31 08:00 AM", duration: "1h", every: Monthly, now: "2024-02-01T00:00:00Z", wantStart: "2024-03-31T06:00:00Z", wantEnd: "2024-03-31T07:00:00Z"},
		{name: "the_29th_of_february", zone: berlin, start: "2024-02-29 08:00 AM", duration: "1h", every: Yearly, now: "2024-03-01T00:00:00Z", wantStart: "2028-02-29T07:00:00Z", wantEnd: "2028-02-29T08:00:00Z"},
		{name: "until_is_inclusive", zone: berlin, start: "2024-01-01 08:00 AM", duration: "1h", every: Monthly, value: 3, until: "2024-10-01 08:00 AM", now: "2024-09-01T00:00:00Z", wantStart: "2024-10-01T06:00:00Z", wantEnd: "2024-10-01T07:00:00Z"},
		{name: "until_ends", zone: berlin, start: "2024-01-01 08:00 AM", duration: "1h", every: Monthly, value: 3, until: "2024-10-01 07:59 AM", now: "2024-09-01T00:00:00Z"},
		{name: "open_although_the_last_start_is_past_until", zone: berlin, start: "2024-01-01 08:00 AM", duration: "3d", every: Weekly, until: "2024-01-08 08:00 AM", now: "2024-01-10T00:00:00Z", wantStart: "2024-01-08T07:00:00Z", wantEnd: "2024-01-11T07:00:00Z"},
		{name: "overlapping_occurrences", zone: berlin, start: "2024-01-01 08:00 AM", duration: "3d", every: Daily, now: "2024-01-06T00:00:00Z", wantStart: "2024-01-03T07:00:00Z", wantEnd: "2024-01-06T07:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Window{Zone: zone(t, c.zone), Start: wall(t, c.start), Every: c.every, Value: c.value}
			if c.end != "" {
				w.End = wall(t, c.end)
			}
			if c.until != "" {
				w.Until = wall(t, c.until)
			}
			if c.duration != "" {
				var err error
				if w.Duration, err = ParseDuration(c.duration); err != nil {
					t.Fatal(err)
				}
			}
			got, ok := w.Next(instantOf(t, c.now))
			if ok != (c.wantStart != "") {
				t.Fatalf("found %v %v; want one: %v", got, ok, c.wantStart != "")
			}
			if ok && (!got.Start.Equal(instantOf(t, c.wantStart)) || !got.End.Equal(instantOf(t, c.wantEnd))) {
				t.Errorf("found %s to %s; want %s to %s", got.Start.UTC().Format(time.RFC3339), got.End.UTC().Format(time.RFC3339), c.wantStart, c.wantEnd)
			}
		})
	}
}

// TestBruteForce compares with a clock that knows no arithmetic: it looks at
// the zone's clock every quarter of an hour for two years, and opens a window
// when it shows the time that the window starts at on a day that it recurs on.
// Times in gaps, which such a clock never sees, are TestNext's.
func TestBruteForce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"} {
		for _, every := range []Every{Daily, Weekly, Monthly, Yearly} {
			for _, value := range []int{1, 3} {
				t.Run(name+string(every), func(t *testing.T) {
					t.Parallel()
					w := Window{Zone: zone(t, name), Start: wall(t, "2024-01-31 04:15 AM"), Duration: 30 * time.Hour, Every: every, Value: value, Until: wall(t, "2025-12-20 04:15 AM")}
					var open time.Time // until when
					for now := instantOf(t, "2024-01-30T00:00:00Z"); now.Year() < 2026; now = now.Add(15 * time.Minute) {
						if show := now.In(w.Zone); show.Hour() == 4 && show.Minute() == 15 && recurs(w, show) {
							open = now.Add(w.Duration)
						}
						if now.Minute() != 15 { // one look an hour is enough to see every change
							continue
						}
						o, ok := w.Next(now)
						if active := ok && !o.Start.After(now); active != now.Before(open) {
							t.Fatalf("at %s (%s) active is %v; the clock says %v", now, now.In(w.Zone), active, !active)
						}
					}
				})
			}
		}
	}
}

// recurs counts days and months by hand.
func recurs(w Window, show time.Time) bool {
	date := time.Date(show.Year(), show.Month(), show.Day(), 4, 15, 0, 0, time.UTC)
	if date.Before(w.Start) || date.After(w.Until) {
		return false
	}
	days := int(date.Sub(w.Start).Hours()) / 24
	months := (date.Year()-w.Start.Year())*12 + int(date.Month()) - int(w.Start.Month())
	switch w.Every {
	case Daily:
		return days%w.Value == 0
	case Weekly:
		return days%(7*w.Value) == 0
	case Monthly:
		return date.Day() == w.Start.Day() && months%w.Value == 0
	case Yearly:
		return date.Day() == w.Start.Day() && months%(12*w.Value) == 0
	case Once:
	}
	return date.Equal(w.Start)
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30m": 30 * time.Minute, "2d": 48 * time.Hour, "1w": 7 * day, "1h 30m": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"29m": 0, "": 0, "h": 0, "5": 0, "1x": 0, "-1h": 0, "99999999999999999999h": 0, "9999999w": 0,
	} {
		if got, err := ParseDuration(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
}

// FuzzNext says that whatever can be read is answered, and that an occurrence
// ends after the time that was asked about and after its start.
func FuzzNext(f *testing.F) {
	f.Add("America/Los_Angeles", "2023-07-03 10:08 AM", "2d", "Monthly", 3, int64(1700000000))
	f.Add("Europe/Berlin", "2024-02-29 12:00 AM", "1h 30m", "Yearly", 1, int64(1709164800))
	f.Fuzz(func(t *testing.T, name, start, lasts, every string, value int, now int64) {
		w := Window{Every: Every(every), Value: value}
		var errs [3]error
		w.Zone, errs[0] = ParseZone(name)
		w.Start, errs[1] = ParseWall(start)
		w.Duration, errs[2] = ParseDuration(lasts)
		for _, err := range errs {
			if err != nil {
				return
			}
		}
		switch w.Every {
		case Once, Daily, Weekly, Monthly, Yearly:
		default:
			return
		}
		if value < 1 || value > MaxValue || now < 0 || now > 1<<33 {
			return
		}
		at := time.Unix(now, 0)
		if o, ok := w.Next(at); ok && (!o.End.After(at) || o.End.Before(o.Start)) {
			t.Errorf("at %s: %+v", at, o)
		}
	})
}
