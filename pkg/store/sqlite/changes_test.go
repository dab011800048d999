package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/store/storetest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	storetest.RunChanges(t, func(t *testing.T) (store.Store, func() []store.Change) {
		t.Helper()
		s := open(t, filepath.Join(t.TempDir(), "slipway.db"))
		return s.Store, func() []store.Change {
			list := waiting(t, s, "one")
			if len(list) > 0 {
				takeIn(t, s, "one", list[len(list)-1].Position, "one")
			}
			return list
		}
	})
}

func waiting(t *testing.T, s *sqlite.Store, subscriber string) []store.Change {
	t.Helper()
	list, err := s.Changes.Changes(t.Context(), subscriber, 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func takeIn(t *testing.T, s *sqlite.Store, subscriber string, position int64, all ...string) {
	t.Helper()
	if err := s.Changes.TakeIn(t.Context(), subscriber, position, all); err != nil {
		t.Fatal(err)
	}
}

// A subscriber gets a change until it has taken it in, whatever the others
// have done; one that comes later gets what is still there.
func TestSubscribersAreApart(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "slipway.db"))
	for range 3 {
		if _, err := s.AppendAudit(t.Context(), audit.Record{Scope: ref.Scope{Account: "acme"}, Action: audit.Create}); err != nil {
			t.Fatal(err)
		}
	}
	fast := waiting(t, s, "fast")
	takeIn(t, s, "fast", fast[2].Position, "fast", "slow")
	takeIn(t, s, "fast", fast[0].Position, "fast", "slow") // comes late
	takeIn(t, s, "slow", fast[0].Position, "fast", "slow")
	for subscriber, want := range map[string]int{"fast": 0, "slow": 2, "new": 2} {
		if got := waiting(t, s, subscriber); len(got) != want {
			t.Errorf("%s has %d changes waiting, want %d", subscriber, len(got), want)
		}
	}
}

// A record that was removed before a subscriber heard of it is in nobody's way.
func TestChangesOfRemovedRecords(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "slipway.db"))
	var last audit.Record
	for range 2 {
		var err error
		if last, err = s.AppendAudit(t.Context(), audit.Record{Scope: ref.Scope{Account: "acme"}, Action: audit.Create}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.TrimAudit(t.Context(), "acme", last.Place(), audit.Expiry(last.Time, "acme", last.Place())); err != nil {
		t.Fatal(err)
	}
	list := waiting(t, s, "one")
	if len(list) != 3 || list[0].Audit != nil || list[1].Audit != nil || list[2].Audit == nil {
		t.Errorf("the changes are %+v; want two of which nothing is left, and the record of that", list)
	}
}
