package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return open(t, filepath.Join(t.TempDir(), "slipway.db"))
	})
}

func open(tb testing.TB, path string) *sqlite.Store {
	tb.Helper()
	db, err := sqlitedb.Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	s, err := sqlite.New(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
