package dynamo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// FuzzKeys: parts come back from a key as they were, whatever is in them, and
// different parts make different keys.
func FuzzKeys(f *testing.F) {
	f.Add("acme", "shop", "account.dev")
	f.Add("a#b", "%23", "")
	f.Add("", "#", "%")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		parts := []string{a, b, c}
		joined := join(parts...)
		got, err := split(joined, 3)
		if err != nil || !slices.Equal(got, parts) {
			t.Errorf("%q came back from %q as %q, %v", parts, joined, got, err)
		}
		k := store.EntityKey{Scope: ref.Scope{Account: a, Org: b}, Kind: ref.Service, ID: c, Env: a}
		back, err := parseEntity(entityText(k))
		if diff := cmp.Diff(k, back); diff != "" || err != nil {
			t.Errorf("%v; entity key (-want +got):\n%s", err, diff)
		}
	})
}

func TestKeysSortLikeWhatTheyName(t *testing.T) {
	t.Parallel()
	var entities []string
	for _, id := range []string{"A", "a", "a$", "a-b", "a0", "aA", "a_b", "ab", "b"} {
		entities = append(entities, entityAt(store.EntityKey{ID: id}).sk, entityAt(store.EntityKey{ID: id, Env: "dev"}).sk)
	}
	var moments []string
	for _, ms := range []int64{0, 1, 999, 1_000, 999_999_999_999, 1_767_323_045_000, 253_402_300_799_000} {
		moments = append(moments, momentText(fromMillis(ms), "x1"), momentText(fromMillis(ms), "x2"))
	}
	numbers := []string{numberText(0), numberText(9), numberText(10), numberText(1<<63 - 1), lastNumber, auditHeadAt("").sk}
	for what, keys := range map[string][]string{"entities": entities, "moments": moments, "numbers": numbers} {
		if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
			t.Errorf("keys of %s aren't in order:\n%s", what, strings.Join(keys, "\n"))
		}
	}
}

func TestMomentsKnowTheirMonth(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, fromMillis(1), time.Date(2025, 12, 31, 23, 59, 59, 999_000_000, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} {
		moment := momentText(at, "x#1")
		month, err := momentMonth(moment)
		if err != nil || month != monthOf(at) || momentID(moment) != "x#1" {
			t.Errorf("moment %q has the month %q, %v, and the id %q; want month %q", moment, month, err, momentID(moment), monthOf(at))
		}
	}
	if month, err := momentMonth("now"); err == nil {
		t.Errorf("what isn't a moment has the month %q", month)
	}
}

// TestNames: a name for each attribute that an expression writes with #.
func TestNames(t *testing.T) {
	t.Parallel()
	want := map[string]string{"#status": "status", "#version": "version"}
	if diff := cmp.Diff(want, names("SET #status = :status, #version = :next#version = :version")); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := names(missing); got != nil {
		t.Errorf("an expression without them has the names %v", got)
	}
}
