package api_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
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
