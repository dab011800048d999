package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// TestListsAreIndexRanges: what is asked for all the time, or of tables that
// only grow, neither scans a table nor sorts.
func TestListsAreIndexRanges(t *testing.T) {
	t.Parallel()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := New(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		selectOpenTasks:    "SEARCH task USING INDEX task_open (account=? AND (created_at,id)>(?,?))",
		selectHeldTasks:    "SEARCH task USING INDEX task_held (delegate=?)",
		selectExecutions:   "SEARCH execution USING INDEX execution_scope (scope=? AND started_at>? AND (started_at,id)<(?,?))",
		selectUnderWay:     "SEARCH execution USING INDEX execution_under_way ((started_at,id)>(?,?) AND started_at<?)",
		selectExecutionsOf: "SEARCH execution USING INDEX execution_pipeline (scope=? AND pipeline=? AND started_at>? AND (started_at,id)<(?,?))",
	} {
		var plan []string
		err := db.Read(t.Context(), func(tx *sqlitedb.Tx) (err error) {
			plan, err = rows(tx, func(row scanner) (string, error) {
				var id, parent, unused int
				var detail string
				err := row.Scan(&id, &parent, &unused, &detail)
				return detail, err
			}, "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(plan, []string{want}) {
			t.Errorf("%s\nis done as %q, want %q", query, plan, want)
		}
	}
}
