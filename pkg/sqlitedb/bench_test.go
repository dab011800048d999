package sqlitedb_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

func open(tb testing.TB) *sqlitedb.DB {
	tb.Helper()
	db, err := sqlitedb.Open(tb.Context(), filepath.Join(tb.TempDir(), "test.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := db.Migrate(tb.Context(), "test", []string{`CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT NOT NULL)`}); err != nil {
		tb.Fatal(err)
	}
	return db
}

func insert(tb testing.TB, db *sqlitedb.DB, k int64) {
	tb.Helper()
	err := db.Write(tb.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (?, ?)`, k, "a row of some length that is about what a node has")
		return err
	})
	if err != nil {
		tb.Error(err)
	}
}

// BenchmarkCommit is one durable commit after the other.
func BenchmarkCommit(b *testing.B) {
	db := open(b)
	var k int64
	for b.Loop() {
		k++
		insert(b, db, k)
	}
}

// BenchmarkGroupCommit is 64 writers at once.
func BenchmarkGroupCommit(b *testing.B) {
	db := open(b)
	var k atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS, which is 2 here
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			insert(b, db, k.Add(1))
		}
	})
}
