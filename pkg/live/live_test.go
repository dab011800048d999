package live_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

func open(t *testing.T) store.Keys {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	st, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return st.Keys
}

func TestATicketLetsOneIn(t *testing.T) {
	t.Parallel()
	keys := open(t)
	const origin = "https://slipway.example.com"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	viewer := store.Viewer{Token: "s1", Since: at.Add(-time.Hour), Scope: ref.Scope{Account: "default", Org: "o"}, Execution: "x1"}
	for _, tt := range []struct {
		name, origin string
		change       string
		after        time.Duration
		in           bool
	}{
		{"at once", origin, "", 0, true},
		{"just in time", origin, "", 30*time.Second - time.Millisecond, true},
		{"late", origin, "", 30 * time.Second, false},
		{"from another page", "https://evil.example.com", "", 0, false},
		{"from no page", "", "", 0, false},
		{"a guess", origin, "x", 0, false},
	} {
		text, expires, err := live.Issue(t.Context(), keys, viewer, origin, at)
		if err != nil || !expires.Equal(at.Add(30*time.Second)) {
			t.Fatalf("%s: until %s, %v", tt.name, expires, err)
		}
		got, err := live.Take(t.Context(), keys, text+tt.change, tt.origin, at.Add(tt.after))
		if !tt.in {
			if !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v, want a refusal", tt.name, err)
			}
			continue
		}
		if diff := cmp.Diff(viewer, got); diff != "" || err != nil {
			t.Errorf("%s: %v; the viewer (-want +got):\n%s", tt.name, err, diff)
		}
		if _, err := live.Take(t.Context(), keys, text, origin, at.Add(tt.after)); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: a second time %v, want a refusal", tt.name, err)
		}
	}
}

// Who shows a ticket of another page doesn't spend it.
func TestAStrangerSpendsNoTicket(t *testing.T) {
	t.Parallel()
	keys := open(t)
	text, _, err := live.Issue(t.Context(), keys, store.Viewer{Token: "s1"}, "https://a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Take(t.Context(), keys, text, "https://b", time.Now()); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := live.Take(t.Context(), keys, text, "https://a", time.Now()); err != nil {
		t.Errorf("whose it is: %v", err)
	}
}

func TestOfManyAtOnceATicketLetsOneIn(t *testing.T) {
	t.Parallel()
	keys := open(t)
	text, _, err := live.Issue(t.Context(), keys, store.Viewer{Token: "s1"}, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var in atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := live.Take(t.Context(), keys, text, "", time.Now())
			switch {
			case err == nil:
				in.Add(1)
			case !fault.Is(err, fault.Forbidden):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 {
		t.Errorf("%d were let in, want one", in.Load())
	}
}
