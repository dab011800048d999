package feed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// save makes n events, of the entities 0 to n-1.
func save(t *testing.T, s *sqlite.Store, n int) (ids []string) {
	t.Helper()
	for i := range n {
		id := fmt.Sprint(i)
		if _, err := s.AppendAudit(t.Context(), audit.Record{Scope: scope, Action: audit.Create, Kind: "service", ID: id}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// run runs a loop until the test stops it.
func run(t *testing.T, s *sqlite.Store, now func() time.Time, subscribers ...feed.Subscriber) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := feed.Loop{Changes: s.Changes, Reader: feed.NewReader(s, nil), Subscribers: subscribers, Now: now, Log: slog.New(slog.DiscardHandler)}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// into gives the ids of what comes to a channel, after what refuse says.
func into(name string, heard chan<- string, refuse func(id string) error) feed.Subscriber {
	return feed.Subscriber{Name: name, Handle: func(ctx context.Context, e feed.Event) error {
		if err := refuse(e.Detail.Entity.ID); err != nil {
			return err
		}
		select {
		case heard <- e.Detail.Entity.ID:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

func willing(string) error { return nil }

func take(t *testing.T, heard <-chan string, n int) (ids []string) {
	t.Helper()
	for range n {
		select {
		case id := <-heard:
			ids = append(ids, id)
		case <-time.After(5 * time.Minute):
			t.Fatalf("nothing has come after %q", ids)
		}
	}
	return ids
}

func TestSubscribersGetEverythingInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := save(t, s, 250)
	a, b := make(chan string), make(chan string)
	defer run(t, s, time.Now, into("a", a, willing), into("b", b, willing))()
	for name, heard := range map[string]chan string{"a": a, "b": b} {
		if got := take(t, heard, 250); !slices.Equal(got, want) {
			t.Errorf("%s got %q", name, got)
		}
	}
}

// What wasn't taken in comes again, after a refusal as after a restart; and
// nobody else waits for it.
func TestARefusedEventComesAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := save(t, s, 3)
	heard, other := make(chan string), make(chan string, 3)
	times := 0
	stop := run(t, s, time.Now, into("b", other, willing), into("a", heard, func(id string) error {
		if times++; id == "1" && times < 4 {
			return errors.New("not now")
		}
		return nil
	}))
	take(t, other, 3)
	if got := take(t, heard, 2); !slices.Equal(got, want[:2]) {
		t.Errorf("got %q", got)
	}
	stop() // while the last one is given
	defer run(t, s, time.Now, into("a", heard, willing))()
	got := take(t, heard, 1)
	for got[len(got)-1] != "2" {
		got = append(got, take(t, heard, 1)...)
	}
	if i := slices.Index(want, got[0]); i < 1 || !slices.Equal(got, want[i:]) {
		t.Errorf("after a restart %q came, want the last or the last two", got)
	}
}

// An event that is refused for a day is passed over.
func TestAnOldEventIsPassedOver(t *testing.T) {
	t.Parallel()
	s := open(t)
	save(t, s, 3)
	heard := make(chan string)
	tomorrow := func() time.Time { return time.Now().Add(25 * time.Hour) }
	defer run(t, s, tomorrow, into("a", heard, func(id string) error {
		if id == "1" {
			return errors.New("never")
		}
		return nil
	}))()
	if got := take(t, heard, 2); !slices.Equal(got, []string{"0", "2"}) {
		t.Errorf("got %q", got)
	}
}
