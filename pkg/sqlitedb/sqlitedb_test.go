package sqlitedb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/pkg/share"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

func count(t *testing.T, db *sqlitedb.DB) int {
	t.Helper()
	var n int
	err := db.Read(t.Context(), func(tx *sqlitedb.Tx) error { return tx.QueryRow(`SELECT count(*) FROM t`).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// In a group, a function that fails loses its own changes and no others, and
// what was to follow on them.
func TestAFailureUndoesItsOwnChangesOnly(t *testing.T) {
	t.Parallel()
	db := open(t)
	gate := make(chan struct{})
	first := db.Queue(func(*sqlitedb.Tx) error { // keeps the writer busy until the rest is queued
		<-gate
		return nil
	})
	broken := errors.New("broken")
	var waits []func() error
	var followed []int
	for k := range 10 {
		waits = append(waits, db.Queue(func(tx *sqlitedb.Tx) error {
			tx.Then(func() { followed = append(followed, k) })
			if _, err := tx.Exec(`INSERT INTO t VALUES (?, 'x')`, k); err != nil {
				return err
			}
			if k%2 == 1 {
				return broken
			}
			return nil
		}))
	}
	close(gate)
	if err := first(); err != nil {
		t.Error(err)
	}
	for k, wait := range waits {
		if err := wait(); (k%2 == 1) != errors.Is(err, broken) {
			t.Errorf("function %d gave %v", k, err)
		}
	}
	if n := count(t, db); n != 5 || !slices.Equal(followed, []int{0, 2, 4, 6, 8}) {
		t.Errorf("%d rows, want 5; %v were followed", n, followed)
	}
}

func TestALoneFailureIsUndone(t *testing.T) {
	t.Parallel()
	db := open(t)
	broken := errors.New("broken")
	err := db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		tx.Then(func() { t.Error("something followed on what was undone") })
		if _, err := tx.Exec(`INSERT INTO t VALUES (1, 'x')`); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || count(t, db) != 0 {
		t.Errorf("%v, %d rows", err, count(t, db))
	}
}

// The order of Queue is the order of the commits.
func TestQueueKeepsTheOrder(t *testing.T) {
	t.Parallel()
	db := open(t)
	var order []int
	var waits []func() error
	for k := range 100 {
		waits = append(waits, db.Queue(func(*sqlitedb.Tx) error {
			order = append(order, k) // there is one writer
			return nil
		}))
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
	for k, got := range order {
		if got != k {
			t.Fatalf("function %d came at place %d", got, k)
		}
	}
}

func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.db")
	db, err := sqlitedb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitedb.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("opening twice gave %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(*sqlitedb.Tx) error { return nil }); !errors.Is(err, sqlitedb.ErrClosed) {
		t.Errorf("writing after Close gave %v", err)
	}
	if db, err = sqlitedb.Open(t.Context(), path); err != nil {
		t.Fatalf("opening again after Close: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Close leaves no file open, and all that was written in the database itself.
func TestCloseClosesTheFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "closed.db")
	db, err := sqlitedb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), "test", []string{`CREATE TABLE t (k INTEGER)`, `INSERT INTO t VALUES (1)`}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != 1 {
		t.Fatalf("found %d rows; want 1", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system doesn't tell which files are open")
	}
	for _, f := range open {
		if name, err := os.Readlink(filepath.Join("/proc/self/fd", f.Name())); err == nil && strings.HasPrefix(name, path) {
			t.Errorf("%s is still open", name)
		}
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
}

func TestMigrateRunsEachStatementOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	steps := []string{`CREATE TABLE u (k INTEGER)`, `INSERT INTO u VALUES (1)`}
	for range 2 {
		if err := db.Migrate(t.Context(), "u", steps); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Migrate(t.Context(), "u", append(steps, `INSERT INTO u VALUES (2)`)); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.Read(t.Context(), func(tx *sqlitedb.Tx) error { return tx.QueryRow(`SELECT count(*) FROM u`).Scan(&n) }); err != nil || n != 2 {
		t.Errorf("%d rows, %v; want 2", n, err)
	}
	if err := db.Migrate(t.Context(), "u", steps); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("an older program gave %v", err)
	}
}

// A request whose time is over gets that, never half the time an answer.
func TestNothingIsReadOrWrittenAfterTheEnd(t *testing.T) {
	t.Parallel()
	db := open(t)
	why := errors.New("the time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for range 100 {
		if err := db.Read(ctx, func(*sqlitedb.Tx) error { return errors.New("it was read") }); !errors.Is(err, why) {
			t.Fatalf("reading gives %v", err)
		}
		if err := db.Write(ctx, func(*sqlitedb.Tx) error { return errors.New("it was written") }); !errors.Is(err, why) {
			t.Fatalf("writing gives %v", err)
		}
	}
}

// However many long reads one has asked for, another's comes at once; so does
// one of who keeps others waiting, whoever reads.
func TestReadsTakeTurns(t *testing.T) {
	t.Parallel()
	db := open(t)
	in, let := make(chan struct{}, 99), make(chan struct{})
	var all sync.WaitGroup
	long := func(who string) {
		all.Go(func() {
			err := db.Read(share.With(t.Context(), who), func(*sqlitedb.Tx) error {
				in <- struct{}{}
				<-let
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		long("greedy")
	}
	for range 3 {
		<-in
	}
	read := false
	if err := db.Read(share.With(t.Context(), "other"), func(*sqlitedb.Tx) error { read = true; return nil }); err != nil || !read {
		t.Errorf("the other's read: %v", err)
	}
	long("other")
	<-in
	if err := db.ReadSoon(t.Context(), func(*sqlitedb.Tx) error { read = false; return nil }); err != nil || read {
		t.Errorf("the read of who keeps others waiting: %v", err)
	}
	if len(in) > 0 {
		t.Errorf("%d reads more are under way than there may be", len(in))
	}
	close(let)
	all.Wait()
}
