package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// evaluations is store.Evaluations.
type evaluations struct{ db *sqlitedb.DB }

// KeepEvaluation keeps one, and forgets some that have expired.
func (s evaluations) KeepEvaluation(ctx context.Context, e policy.Evaluation, input []byte) error {
	doc, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode evaluation %s: %w", e.ID, err)
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		if err := exec(tx, `DELETE FROM evaluation WHERE rowid IN (SELECT rowid FROM evaluation WHERE until <= ? ORDER BY until LIMIT ?)`, millis(e.CreatedAt), swept); err != nil {
			return err
		}
		return exec(tx, `INSERT INTO evaluation (account, id, scope, execution, at, until, doc, input) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			e.Scope.Account, e.ID, e.Scope.String(), e.Execution, millis(e.CreatedAt), millis(e.ExpiresAt), string(doc), input)
	})
}

// Evaluation reads one with its input.
func (s evaluations) Evaluation(ctx context.Context, account, id string, now time.Time) (policy.Evaluation, []byte, error) {
	var input []byte
	e, err := read(ctx, s.db, func(tx *sqlitedb.Tx) (policy.Evaluation, error) {
		return scanEvaluation(tx.QueryRow(`SELECT account, doc, input FROM evaluation WHERE account = ? AND id = ? AND until > ?`, account, id, millis(now)), &input)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = store.NoEvaluation(id)
	}
	return e, input, err
}

// ListEvaluations lists those of a scope, or of an execution, newest first.
func (s evaluations) ListEvaluations(ctx context.Context, of store.EvaluationsOf, now time.Time, page store.Page) ([]policy.Evaluation, string, error) {
	from, which := `scope = ?`, of.Scope.String()
	if of.Execution != "" {
		from, which = `execution = ? AND execution <> ''`, of.Execution
	}
	place := func(e policy.Evaluation) moment { return momentOf(e.CreatedAt, e.ID) }
	return byTime(ctx, s.db, page, newest, place, func(tx *sqlitedb.Tx, beyond moment, limit int) ([]policy.Evaluation, error) {
		return rows(tx, func(row scanner) (policy.Evaluation, error) { return scanEvaluation(row) },
			`SELECT account, doc FROM evaluation WHERE `+from+` AND account = ? AND (at, id) < (?, ?) AND until > ? ORDER BY at DESC, id DESC LIMIT ?`,
			which, of.Scope.Account, beyond.at, beyond.id, millis(now), limit)
	})
}

func scanEvaluation(row scanner, more ...any) (policy.Evaluation, error) {
	var e policy.Evaluation
	var account string
	var doc []byte
	if err := row.Scan(append([]any{&account, &doc}, more...)...); err != nil {
		return e, err
	}
	if err := json.Unmarshal(doc, &e); err != nil {
		return e, fmt.Errorf("decode an evaluation: %w", err)
	}
	e.Scope = ref.Scope{Account: account, Org: e.Org, Project: e.Project}
	return e, nil
}
