package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return open(t, filepath.Join(t.TempDir(), "slipway.db")).Store
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

func TestRecordsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "slipway.db")
	scope := ref.Scope{Account: "acme"}
	t.Run("first", func(t *testing.T) {
		if _, err := open(t, path).AppendAudit(t.Context(), audit.Record{Scope: scope, Action: audit.Create}); err != nil {
			t.Fatal(err)
		}
	})
	r, err := open(t, path).AppendAudit(t.Context(), audit.Record{Scope: scope, Action: audit.Delete})
	if err != nil || r.Sequence != 2 {
		t.Errorf("the next record is number %d, %v; want 2", r.Sequence, err)
	}
}
