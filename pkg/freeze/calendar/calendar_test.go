package calendar_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/freeze/calendar"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

const saved = `freeze:
  identifier: nights
  name: Nights
  status: Enabled
  orgIdentifier: o
  entityConfigs: [{name: "all; of them, räume in denen\nöfter geschlafen wird", entities: [{type: Service, filterType: All}]}]
  windows: [{timeZone: UTC, startTime: 2024-01-01 10:00 PM, duration: 8h, recurrence: {type: Daily, spec: {until: 2024-01-03 11:00 PM}}}]
---
freeze:
  identifier: off
  name: Off
  status: Disabled
  orgIdentifier: o
  projectIdentifier: p
  entityConfigs: [{name: r, entities: [{type: Service, filterType: All}]}]
  windows: [{timeZone: Europe/Berlin, startTime: 2024-02-01 12:00 AM, duration: 1d}]
---
freeze:
  identifier: past
  name: Past
  status: Enabled
  entityConfigs: [{name: r, entities: [{type: Service, filterType: All}]}]
  windows: [{timeZone: UTC, startTime: 2023-02-01 12:00 AM, duration: 1d}]
---
freeze:
  identifier: elsewhere
  name: Elsewhere
  status: Enabled
  orgIdentifier: another
  entityConfigs: [{name: r, entities: [{type: Service, filterType: All}]}]
  windows: [{timeZone: UTC, startTime: 2024-01-01 12:00 AM, duration: 1d}]
`

// reader reads freezes that are saved in a store.
func reader(t *testing.T) *calendar.Reader {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	c := catalog.New(catalog.Config{Store: s.Store, Options: builtin.Options(ref.Scope{}), Now: time.Now})
	for doc := range strings.SplitSeq(saved, "---\n") {
		if _, err := c.Save(t.Context(), catalog.Draft{Scope: ref.Scope{Account: "acme"}, YAML: []byte(doc), Version: catalog.AnyVersion}, audit.Author{Actor: "me"}); err != nil {
			t.Fatal(err)
		}
	}
	return calendar.New(s.Store.Entities)
}

func TestList(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got, err := reader(t).List(t.Context(), ref.Scope{Account: "acme", Org: "o", Project: "p"}, at("2024-01-02T23:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	want := calendar.Freezes{Freezes: []calendar.Entry{
		{Freeze: "past", Name: "Past", Enabled: true},
		{Freeze: "nights", Name: "Nights", Org: "o", Enabled: true, Active: true, Start: at("2024-01-02T22:00:00Z"), End: at("2024-01-03T06:00:00Z")},
		{Freeze: "off", Name: "Off", Org: "o", Project: "p", Start: at("2024-01-31T23:00:00Z"), End: at("2024-02-01T23:00:00Z")},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the freezes (-want +got):\n%s", diff)
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 2, 23, 0, 0, 0, time.UTC)
	got, err := reader(t).Feed(t.Context(), ref.Scope{Account: "acme", Org: "o", Project: "p"}, now, now.AddDate(0, 3, 0))
	if err != nil {
		t.Fatal(err)
	}
	// Lines of at most 75 octets, in which no character is cut in two.
	const want = `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Slipway//Deployment freezes//EN
X-WR-CALNAME:Deployment freezes of acme/o/p
BEGIN:VEVENT
UID:1704232800-nights@acme.o
DTSTAMP:20240102T230000Z
DTSTART:20240102T220000Z
DTEND:20240103T060000Z
SUMMARY:Freeze: Nights
DESCRIPTION:Deployment freeze nights of acme/o: all\; of them\, räume in d
 enen\nöfter geschlafen wird
END:VEVENT
BEGIN:VEVENT
UID:1704319200-nights@acme.o
DTSTAMP:20240102T230000Z
DTSTART:20240103T220000Z
DTEND:20240104T060000Z
SUMMARY:Freeze: Nights
DESCRIPTION:Deployment freeze nights of acme/o: all\; of them\, räume in d
 enen\nöfter geschlafen wird
END:VEVENT
END:VCALENDAR
`
	if diff := cmp.Diff(strings.ReplaceAll(want, "\n", "\r\n"), string(got)); diff != "" {
		t.Errorf("the calendar (-want +got):\n%s", diff)
	}
}
