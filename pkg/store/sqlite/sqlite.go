// Package sqlite keeps what pkg/store says in one SQLite file, for Slipway on
// one machine.
//
// It holds SQL and keys only: grouping commits into one fsync is
// pkg/sqlitedb's, and what a change means is its caller's. Each method is one
// Write or one Read, or none where what was written lately is asked for. Each
// sort of pkg/store is a type with what it needs: the database, and some what
// was written lately of theirs.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Store keeps everything in one database file. It is for many goroutines.
type Store struct {
	store.Store
	Changes store.Changes
}

// New brings the tables up to date and gives the store over them, of which
// there may be one alone. The database is the caller's to close.
func New(ctx context.Context, db *sqlitedb.DB) (*Store, error) { return newStore(ctx, db, usualRoom()) }

func newStore(ctx context.Context, db *sqlitedb.DB, r room) (*Store, error) {
	if err := db.Migrate(ctx, "store", schema()); err != nil {
		return nil, fmt.Errorf("bring the store's tables up to date: %w", err)
	}
	t := tasks{db: db, recent: newRecentTasks(r.tasks)}
	return &Store{
		Store: store.Store{
			Entities:    entities{db: db},
			Executions:  executions{db: db, recent: newRecentRuns(r.runs)},
			Turns:       turns{db},
			Tasks:       t,
			Checkpoints: checkpoints{db},
			Provisions:  provisions{db},
			Delegates:   delegates{db: db, recent: newRecentDelegates(r.others)},
			Secrets:     secrets{db},
			Logs:        logs{db},
			Audits:      audits{db},
			Keys:        keys{db: db, recent: newRecentTokens(r.others)},
			Fires:       fires{db},
			Evaluations: evaluations{db},
			Polls:       polls{db},
			Placements:  placements{db},
			Files:       files{db},
			GitOps:      gitOps{db},
			Streams:     streams{db},
		},
		Changes: changes{db},
	}, t.loadOpen(ctx)
}

// scanner is a row: sqlitedb.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

// read gives what fn reads from a view of what has been committed.
func read[T any](ctx context.Context, db *sqlitedb.DB, fn func(*sqlitedb.Tx) (T, error)) (T, error) {
	var out T
	err := db.Read(ctx, func(tx *sqlitedb.Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// write gives what fn gives once its changes are on disk.
func write[T any](ctx context.Context, db *sqlitedb.DB, fn func(*sqlitedb.Tx) (T, error)) (T, error) {
	return through(ctx, db.Write, fn)
}

// apply gives what fn gives once its changes are committed: for what the
// engine does all the time, of which nothing leaves the process before it is
// on disk (sqlitedb.DB.Apply).
func apply[T any](ctx context.Context, db *sqlitedb.DB, fn func(*sqlitedb.Tx) (T, error)) (T, error) {
	return through(ctx, db.Apply, fn)
}

func through[T any](ctx context.Context, commit func(context.Context, func(*sqlitedb.Tx) error) error, fn func(*sqlitedb.Tx) (T, error)) (T, error) {
	var out T
	err := commit(ctx, func(tx *sqlitedb.Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// rows reads every row of a query.
func rows[T any](tx *sqlitedb.Tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	found, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }() // Err tells of what closing could
	var out []T
	for found.Next() {
		v, err := scan(found)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, found.Err()
}

// exec runs a statement that can't lose a condition.
func exec(tx *sqlitedb.Tx, query string, args ...any) error {
	_, err := tx.Exec(query, args...)
	return err
}

// missing turns "no row" into fault.NotFound for a thing such as `task "t1"`.
func missing(err error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "%s doesn't exist", fmt.Sprintf(format, args...))
	}
	return err
}
