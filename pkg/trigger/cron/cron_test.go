package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/trigger/cron"
)

// due lists the first times of a schedule after a moment.
func due(t *testing.T, s *cron.Schedule, after time.Time, n int) string {
	t.Helper()
	var out []string
	for range n {
		next, ok := s.Next(after)
		if !ok {
			out = append(out, "never")
			break
		}
		out = append(out, next.Format("Mon 2006-01-02 15:04:05"))
		after = next
	}
	return strings.Join(out, "\n")
}

// semantics/pipeline §11.3.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, dialect, expression, want string }{
		{"every five minutes", "UNIX", "*/5 * * * *", "Thu 2026-01-01 00:05:00\nThu 2026-01-01 00:10:00"},
		{"no dialect is UNIX", "", "30 4 * * *", "Thu 2026-01-01 04:30:00\nFri 2026-01-02 04:30:00"},
		{"names", "UNIX", "0 4 * feb mon-wed", "Mon 2026-02-02 04:00:00\nTue 2026-02-03 04:00:00\nWed 2026-02-04 04:00:00\nMon 2026-02-09 04:00:00"},
		{"Sunday is 0", "UNIX", "0 0 * * 0", "Sun 2026-01-04 00:00:00\nSun 2026-01-11 00:00:00"},
		{"Sunday is 7", "UNIX", "0 0 * * 7", "Sun 2026-01-04 00:00:00\nSun 2026-01-11 00:00:00"},
		{"the 13th or a Tuesday", "UNIX", "0 0 13 * 2", "Tue 2026-01-06 00:00:00\nTue 2026-01-13 00:00:00\nTue 2026-01-20 00:00:00\nTue 2026-01-27 00:00:00\nTue 2026-02-03 00:00:00\nTue 2026-02-10 00:00:00\nFri 2026-02-13 00:00:00"},
		{"over midnight", "UNIX", "0 22-2/2 * * *", "Thu 2026-01-01 02:00:00\nThu 2026-01-01 22:00:00\nFri 2026-01-02 00:00:00"},
		{"a leap day", "UNIX", "0 0 29 2 *", "Tue 2028-02-29 00:00:00\nSun 2032-02-29 00:00:00"},
		{"a day that doesn't exist", "UNIX", "0 0 31 2 *", "never"},
		{"Quartz begins with seconds", "QUARTZ", "15 0 4 * * ?", "Thu 2026-01-01 04:00:15\nFri 2026-01-02 04:00:15"},
		{"Quartz with a year", "QUARTZ", "0 0 4 1 1 ? 2028", "Sat 2028-01-01 04:00:00\nnever"},
		{"six fields that end with a year have no seconds", "QUARTZ", "30 4 7 7 ? 2027", "Wed 2027-07-07 04:30:00\nnever"},
		{"a year that is over", "QUARTZ", "0 4 7 7 ? 2014", "never"},
		{"Quartz counts from Sunday", "QUARTZ", "0 0 0 ? * 1", "Sun 2026-01-04 00:00:00\nSun 2026-01-11 00:00:00"},
		{"the last day", "QUARTZ", "0 0 0 L * ?", "Sat 2026-01-31 00:00:00\nSat 2026-02-28 00:00:00\nTue 2026-03-31 00:00:00"},
		{"the last but two", "QUARTZ", "0 0 0 L-2 * ?", "Thu 2026-01-29 00:00:00\nThu 2026-02-26 00:00:00"},
		{"the last workday", "QUARTZ", "0 0 0 LW * ?", "Fri 2026-01-30 00:00:00\nFri 2026-02-27 00:00:00\nTue 2026-03-31 00:00:00"},
		{"the workday next to the 1st", "QUARTZ", "0 0 0 1W * ?", "Mon 2026-02-02 00:00:00\nMon 2026-03-02 00:00:00"},
		{"the last Friday", "QUARTZ", "0 0 0 ? * FRIL", "Fri 2026-01-30 00:00:00\nFri 2026-02-27 00:00:00"},
		{"the third Friday", "QUARTZ", "0 0 0 ? * 6#3", "Fri 2026-01-16 00:00:00\nFri 2026-02-20 00:00:00"},
		{"a step from a value", "UNIX", "10/20 0 1 1 *", "Thu 2026-01-01 00:10:00\nThu 2026-01-01 00:30:00\nThu 2026-01-01 00:50:00\nFri 2027-01-01 00:10:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := cron.Parse(tt.dialect, tt.expression)
			if err != nil {
				t.Fatal(err)
			}
			got := due(t, s, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), strings.Count(tt.want, "\n")+1)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.expression, diff)
			}
		})
	}
}

func TestAClockThatIsSet(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("there are no time zones here")
	}
	s, err := cron.Parse(cron.Unix, "30 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		after time.Time
		want  string
	}{
		{"02:30 is skipped in spring", time.Date(2026, 3, 28, 12, 0, 0, 0, berlin), "Mon 2026-03-30 02:30:00\nTue 2026-03-31 02:30:00"},
		{"02:30 comes twice in autumn", time.Date(2026, 10, 24, 12, 0, 0, 0, berlin), "Sun 2026-10-25 02:30:00\nMon 2026-10-26 02:30:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, due(t, s, tt.after, 2)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadSchedules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dialect, expression, want string }{
		{"UNIX", "* * * *", "has 4 fields; want 5"},
		{"UNIX", "60 * * * *", `the minute is "60"; want a number from 0 to 59`},
		{"UNIX", "* * 0 * *", `the day of the month is "0"; want a number from 1 to 31`},
		{"UNIX", "* * L * *", `the day of the month is "L"`},
		{"UNIX", "* * * 13 *", `the month is "13"`},
		{"UNIX", "*/0 * * * *", `the minute has the step "0"`},
		{"UNIX", "+5 * * * *", `the minute is "+5"`},
		{"UNIX", "1,,2 * * * *", `the minute is ""`},
		{"QUARTZ", "* * * * *", "has 5 fields; want 6 or 7"},
		{"QUARTZ", "0 0 0 ? * 8", `the day of the week is "8"; want a number from 1 to 7`},
		{"QUARTZ", "0 0 0 ? * 6#6", `the day of the week is "6"; want a number from 1 to 5`},
		{"CRON", "* * * * *", `found the dialect "CRON"`},
		{"UNIX", strings.Repeat("*", 300), "may have 256 characters"},
	} {
		t.Run(tt.expression, func(t *testing.T) {
			t.Parallel()
			if _, err := cron.Parse(tt.dialect, tt.expression); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v; want %q", err, tt.want)
			}
		})
	}
}

// FuzzParse: no expression breaks the parser, and a due time comes after the
// moment that was asked for.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"*/5 * * * *", "0 0 4 ? * 6#3 2028", "0 0 0 L-3 * ?", "59 59 23 31 DEC ? 2199", "30 4 7 7 ? 2014", "0 0 15W * FRIL"} {
		f.Add(cron.Unix, seed)
		f.Add(cron.Quartz, seed)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, dialect, text string) {
		s, err := cron.Parse(dialect, text)
		if err != nil {
			return
		}
		if next, ok := s.Next(start); ok && !next.After(start) {
			t.Errorf("%q is due at %s, which isn't after %s", text, next, start)
		}
	})
}

func TestSchedulesOfNoDialect(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for text, want := range map[string]string{
		"0 * * * *":     "06:00:00",
		"0 0/1 * * ?":   "06:00:00", // as Harness has it for directories
		"*/20 * ? * *":  "05:20:00",
		"30 7 5 * * ?":  "05:07:30",
		"0 0 6 ? * * *": "06:00:00",
	} {
		s, err := cron.ParseAny(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if next, ok := s.Next(at); !ok || next.Format(time.TimeOnly) != want {
			t.Errorf("%s is due at %v (%t); want %s", text, next, ok, want)
		}
	}
	for _, text := range []string{"", "hourly", "0 *", "0 0/61 * * ?"} {
		if _, err := cron.ParseAny(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
