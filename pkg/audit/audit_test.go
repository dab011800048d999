package audit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// chain makes the first n records of an account.
func chain(t *testing.T, n int) []audit.Record {
	t.Helper()
	var out []audit.Record
	var last audit.Record
	for i := range n {
		r, err := audit.Chain(audit.Record{
			Time: time.Date(2026, 1, 2, 3, 4, i, 999_999_999, time.FixedZone("", 3600)), Actor: "ann",
			Scope: ref.Scope{Account: "acme", Org: "default"}, Action: audit.Update, Kind: "pipeline", ID: fmt.Sprint("p", i),
			Before: "a: 1\n", After: "a: <2>\n", Request: "r1",
		}, last.Sequence, last.Hash)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
		last = r
	}
	return out
}

// check gives the number of the first record that isn't accepted; 0: all are.
func check(records []audit.Record) int {
	var v audit.Verifier
	for i, r := range records {
		if v.Check(r) != nil {
			return i + 1
		}
	}
	return 0
}

// rehashed is what a forger makes of a changed record: its hash is right again.
func rehashed(t *testing.T, r audit.Record) audit.Record {
	t.Helper()
	forged, err := audit.Chain(r, r.Sequence-1, r.Previous)
	if err != nil {
		t.Fatal(err)
	}
	return forged
}

func TestVerifierFindsChanges(t *testing.T) {
	t.Parallel()
	edit := func(i int, change func(*audit.Record)) func(*testing.T, []audit.Record) []audit.Record {
		return func(_ *testing.T, rs []audit.Record) []audit.Record {
			change(&rs[i])
			return rs
		}
	}
	for _, c := range []struct {
		name   string
		forge  func(*testing.T, []audit.Record) []audit.Record
		wanted int // the record that isn't accepted
	}{
		{"nothing changed", func(_ *testing.T, rs []audit.Record) []audit.Record { return rs }, 0},
		{"time", edit(2, func(r *audit.Record) { r.Time = r.Time.Add(time.Millisecond) }), 3},
		{"actor", edit(2, func(r *audit.Record) { r.Actor = "bob" }), 3},
		{"scope", edit(2, func(r *audit.Record) { r.Scope.Project = "web" }), 3},
		{"action", edit(2, func(r *audit.Record) { r.Action = audit.Delete }), 3},
		{"kind", edit(2, func(r *audit.Record) { r.Kind = "service" }), 3},
		{"id", edit(2, func(r *audit.Record) { r.ID = "other" }), 3},
		{"before", edit(2, func(r *audit.Record) { r.Before = "" }), 3},
		{"after", edit(2, func(r *audit.Record) { r.After += " " }), 3},
		{"request", edit(2, func(r *audit.Record) { r.Request = "" }), 3},
		{"hash", edit(2, func(r *audit.Record) { r.Hash = r.Previous }), 3},
		{"link", edit(2, func(r *audit.Record) { r.Previous = r.Hash }), 3},
		{"sequence", edit(2, func(r *audit.Record) { r.Sequence = 9 }), 3},
		{"the last record", edit(4, func(r *audit.Record) { r.Actor = "bob" }), 5},
		{"a record and its hash", func(t *testing.T, rs []audit.Record) []audit.Record {
			t.Helper()
			rs[2].Actor = "bob"
			rs[2] = rehashed(t, rs[2])
			return rs
		}, 4},
		{"a gap", func(_ *testing.T, rs []audit.Record) []audit.Record { return slices.Delete(rs, 2, 3) }, 3},
		{"a gap that was renumbered", func(t *testing.T, rs []audit.Record) []audit.Record {
			t.Helper()
			rs = slices.Delete(rs, 2, 3)
			rs[2].Sequence = 3
			rs[2] = rehashed(t, rs[2])
			return rs
		}, 3},
		{"no beginning", func(_ *testing.T, rs []audit.Record) []audit.Record { return rs[1:] }, 1},
		{"another order", func(_ *testing.T, rs []audit.Record) []audit.Record {
			rs[2], rs[3] = rs[3], rs[2]
			return rs
		}, 3},
		{"a double", func(_ *testing.T, rs []audit.Record) []audit.Record { return slices.Insert(rs, 2, rs[1]) }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := check(c.forge(t, chain(t, 5))); got != c.wanted {
				t.Errorf("record %d isn't accepted, want %d", got, c.wanted)
			}
		})
	}
}

// TestRecordsSurviveJSON: stores keep records as JSON, exports give them so.
func TestRecordsSurviveJSON(t *testing.T) {
	t.Parallel()
	records := chain(t, 3)
	doc, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	var read []audit.Record
	if err := json.Unmarshal(doc, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, read); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if n := check(read); n != 0 {
		t.Errorf("record %d isn't accepted", n)
	}
}

func TestChainGivesPlaceAndTime(t *testing.T) {
	t.Parallel()
	records := chain(t, 2)
	first, second := records[0], records[1]
	if first.Sequence != 1 || first.Previous != "" || second.Sequence != 2 || second.Previous != first.Hash {
		t.Errorf("sequences %d and %d, links %q and %q", first.Sequence, second.Sequence, first.Previous, second.Previous)
	}
	if want := time.Date(2026, 1, 2, 2, 4, 0, 999_000_000, time.UTC); first.Time != want {
		t.Errorf("time %v, want %v", first.Time, want)
	}
}
