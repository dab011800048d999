package api_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// The trail is read newest first, part by part, and what is chosen is found behind
// more of what isn't than one answer looks at.
func TestAuditNewestFirst(t *testing.T) {
	t.Parallel()
	s := setup(t)
	web := ref.Scope{Account: "default", Org: "default", Project: "web"}
	for i := range 1100 {
		r := audit.Record{Scope: web, Actor: "ann", Action: audit.Update, Kind: "service", ID: "web"}
		if i == 0 {
			r = audit.Record{Scope: ref.Scope{Account: "default"}, Actor: "bob", Action: audit.Rotate, Kind: "issuer", ID: "first"}
		}
		if _, err := s.store.AppendAudit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	part := func(query string) (sequences []int64, next string) {
		var got api.AuditList
		s.ask("GET", "/v1/audit?newest=true"+query, "").want(200, &got)
		for _, r := range got.Records {
			sequences = append(sequences, r.Sequence)
		}
		return sequences, got.NextPageToken
	}
	for _, c := range []struct {
		query string
		want  []int64
		next  string
	}{
		{"&limit=3", []int64{1100, 1099, 1098}, "1097"},
		{"&limit=3&pageToken=2", []int64{2, 1}, ""},
		{"&limit=2&pageToken=1001", []int64{1001, 1000}, "999"},
		{"&limit=2&actor=ann&pageToken=3", []int64{3, 2}, "1"},
		{"&limit=2&org=default&project=web&kind=service&id=web&action=UPDATE", []int64{1100, 1099}, "1098"},
		{"&actor=bob", nil, "100"},
		{"&actor=bob&pageToken=100", []int64{1}, ""},
		{"&org=other&pageToken=5", nil, ""},
	} {
		got, next := part(c.query)
		if diff := cmp.Diff(c.want, got); diff != "" || next != c.next {
			t.Errorf("%s: goes on at %q; want %q (-want +got):\n%s", c.query, next, c.next, diff)
		}
	}
	for at, seen := "", int64(1101); ; {
		got, next := part("&limit=300" + at)
		for _, n := range got {
			if n != seen-1 {
				t.Fatalf("after %d comes %d", seen, n)
			}
			seen = n
		}
		if next == "" {
			if seen != 1 {
				t.Fatalf("the last is %d", seen)
			}
			break
		}
		if _, err := strconv.Atoi(next); err != nil {
			t.Fatal(err)
		}
		at = fmt.Sprint("&pageToken=", next)
	}
	s.ask("GET", "/v1/audit?actor=ann", "").problem(400)
	s.ask("GET", "/v1/audit?newest=true&pageToken=x", "").problem(400)
}

// TestAuditOfATime: what is asked for by time is found whatever is before and behind
// it, by few reads, and also where records aren't quite in the order of their times.
func TestAuditOfATime(t *testing.T) {
	t.Parallel()
	s := setup(t)
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := range 3000 { // a record every ten minutes, of which every seventh comes late
		at := day.Add(time.Duration(i) * 10 * time.Minute)
		if i%7 == 0 {
			at = at.Add(-5 * time.Minute)
		}
		r := audit.Record{Time: at, Scope: ref.Scope{Account: "default"}, Actor: "ann", Action: audit.Update, Kind: "service", ID: strconv.Itoa(i)}
		if _, err := s.store.AppendAudit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	trail := &counted{Audits: s.store.Audits}
	s.cfg.Store.Audits = trail
	s.Server = api.New(s.cfg)
	for _, c := range []struct {
		query string
		want  func(at time.Time) bool
		count int
	}{
		{"from=2026-11-03&to=2026-11-03", func(at time.Time) bool { return at.Day() == 3 }, 144},
		{"from=2026-11-03T12:00:00Z&to=2026-11-03T13:00:00Z", func(at time.Time) bool { return at.Day() == 3 && at.Hour() == 12 }, 6},
		{"from=2026-11-03T13:00:00%2B01:00&to=2026-11-03T14:00:00%2B01:00", func(at time.Time) bool { return at.Day() == 3 && at.Hour() == 12 }, 6},
		{"to=2026-11-01T01:00:00Z", func(at time.Time) bool { return at.Before(day.Add(time.Hour)) }, 6},
		{"from=2026-11-21T19:00:00Z", func(at time.Time) bool { return !at.Before(time.Date(2026, 11, 21, 19, 0, 0, 0, time.UTC)) }, 6},
		{"from=2027-01-01", nil, 0},
		{"to=2025-01-01", nil, 0},
		{"from=2026-11-03&to=2026-11-02", nil, 0},
		{"from=2026-11-03&to=2026-11-03&actor=bob", nil, 0},
	} {
		trail.reads = 0
		var got []audit.Record
		for token := ""; ; {
			var part api.AuditList
			s.ask("GET", "/v1/audit?newest=true&limit=100&"+c.query+"&pageToken="+token, "").want(200, &part)
			got = append(got, part.Records...)
			if token = part.NextPageToken; token == "" {
				break
			}
		}
		if len(got) != c.count {
			t.Errorf("%s: %d records; want %d", c.query, len(got), c.count)
		}
		for i, r := range got {
			if c.want != nil && !c.want(r.Time) || i > 0 && r.Sequence >= got[i-1].Sequence {
				t.Errorf("%s has %d of %s", c.query, r.Sequence, r.Time)
			}
		}
		if trail.reads > 60 {
			t.Errorf("%s takes %d reads", c.query, trail.reads)
		}
	}
	for _, query := range []string{"newest=true&from=yesterday", "newest=true&to=2026-13-01", "from=2026-11-03"} {
		s.ask("GET", "/v1/audit?"+query, "").problem(400)
	}
}

// counted counts how often a trail is read.
type counted struct {
	store.Audits
	reads int
}

func (c *counted) ListAudit(ctx context.Context, account string, from int64, limit int) ([]audit.Record, error) {
	c.reads++
	return c.Audits.ListAudit(ctx, account, from, limit)
}

// TestWhoSeesWhichRecords: who may read the trail of a scope reads that of it, and of
// what is in it as far as that one may there, too.
func TestWhoSeesWhichRecords(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	for _, at := range []string{"", "?org=default", scope, "?org=default&project=shop"} {
		d.put(at, "variable: {name: Shown, identifier: shown, type: String, spec: {valueType: FIXED, fixedValue: x}}")
	}
	d.put("", "role: {identifier: auditor, name: Auditor, permissions: [core_audit_view]}")
	d.put("?org=default", "role: {identifier: auditor, name: Auditor, permissions: [core_audit_view]}")
	d.put(scope, "role: {identifier: auditor, name: Auditor, permissions: [core_audit_view]}")
	for _, c := range []struct {
		at, group string
		want      [4]string // of the account, the organization, the project web and the project shop
	}{
		{scope, "_all_project_level_resources", [4]string{"403", "403", "web", "403"}},
		{"?org=default", "_all_organization_level_resources", [4]string{"403", "", "403", "403"}},
		{"?org=default", "_all_resources_including_child_scopes", [4]string{"403", " shop web", "web", "shop"}},
	} {
		d.put("", "user: {identifier: eve, name: Eve}")
		d.put(c.at, "roleAssignment: {identifier: eve, roleIdentifier: auditor, resourceGroupIdentifier: "+c.group+", principal: {type: USER, identifier: eve}}")
		account := ref.Scope{Account: "default"}
		token := d.mint(access.Grant{Kind: store.TokenUser, Scope: account, Name: "eve", Actor: "eve", Principal: store.EntityKey{Scope: account, Kind: ref.User, ID: "eve"}})
		for i, at := range []string{"", "&org=default", "&org=default&project=web", "&org=default&project=shop"} {
			a := d.ask("GET", "/v1/audit?newest=true&kind=variable&id=shown"+at, "", "Authorization", "Bearer "+token)
			got := strconv.Itoa(a.status)
			if a.status == 200 {
				var list api.AuditList
				a.want(200, &list)
				var projects []string
				for _, r := range list.Records {
					projects = append(projects, r.Scope.Project)
				}
				slices.Sort(projects)
				got = strings.Join(projects, " ")
			}
			if got != c.want[i] {
				t.Errorf("an auditor of %s by %s asks for %q and gets %q; want %q", c.at, c.group, at, got, c.want[i])
			}
		}
		d.ask("GET", "/v1/audit?org=default&project=web", "", "Authorization", "Bearer "+token).problem(403)
		d.ask("DELETE", "/v1/entities/roleAssignment/eve"+c.at+"&version=1", "").want(204, nil)
	}
}

// What was removed from the beginning of a trail is told, oldest first, and isn't
// looked for, newest first.
func TestAuditWithoutItsBeginning(t *testing.T) {
	t.Parallel()
	s := setup(t)
	scope := ref.Scope{Account: "default"}
	var places []audit.Place
	for i := range 12 {
		r, err := s.store.AppendAudit(t.Context(), audit.Record{Scope: scope, Time: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Action: audit.Update, ID: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, r.Place())
	}
	var got api.AuditList
	s.ask("GET", "/v1/audit?limit=2", "").want(200, &got)
	if got.Removed != nil || got.NextPageToken != "3" {
		t.Errorf("of a whole trail: removed %v, next %q", got.Removed, got.NextPageToken)
	}
	if err := s.store.TrimAudit(t.Context(), "default", places[4], audit.Expiry(time.Now(), "default", places[4])); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query string
		want  []int64
		next  string
	}{
		{"limit=2", []int64{6, 7}, "8"},
		{"limit=2&pageToken=3", []int64{6, 7}, "8"}, // which was given out before
		{"limit=2&pageToken=12", []int64{12, 13}, "14"},
		{"newest=true&limit=2", []int64{13, 12}, "11"},
		{"newest=true&pageToken=7", []int64{7, 6}, ""},
		{"newest=true&pageToken=3", nil, ""},
		{"newest=true&from=2026-01-03&to=2026-01-07", []int64{7, 6}, ""},
	} {
		var got api.AuditList
		s.ask("GET", "/v1/audit?"+c.query, "").want(200, &got)
		var numbers []int64
		for _, r := range got.Records {
			numbers = append(numbers, r.Sequence)
		}
		if !slices.Equal(numbers, c.want) || got.NextPageToken != c.next {
			t.Errorf("%s: got %v, next %q; want %v, %q", c.query, numbers, got.NextPageToken, c.want, c.next)
		}
		if oldest := !strings.Contains(c.query, "newest"); oldest && (got.Removed == nil || *got.Removed != places[4]) {
			t.Errorf("%s: removed is %v; want %v", c.query, got.Removed, places[4])
		}
	}
}
