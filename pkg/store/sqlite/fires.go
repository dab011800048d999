package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// fires is store.Fires.
type fires struct{ db *sqlitedb.DB }

// fireDoc is what no query asks a fire for.
type fireDoc struct {
	Outcome   store.FireOutcome `json:"outcome"`
	Reason    string            `json:"reason,omitempty"`
	Execution string            `json:"execution,omitempty"`
	Subject   string            `json:"subject,omitempty"`
}

// PutFire stores a fire and forgets the trigger's that nobody needs any more.
func (s fires) PutFire(ctx context.Context, f store.Fire) error {
	doc, err := json.Marshal(fireDoc{Outcome: f.Outcome, Reason: f.Reason, Execution: f.Execution, Subject: f.Subject})
	if err != nil {
		return fmt.Errorf("encode fire %s: %w", f.ID, err)
	}
	source := entityKey(f.Trigger)
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		err := exec(tx, `INSERT OR REPLACE INTO fire (source, at, id, doc) VALUES (?, ?, ?, ?)`, source, millis(f.At), f.ID, string(doc))
		if err != nil {
			return err
		}
		return exec(tx, `DELETE FROM fire WHERE source = ? AND at < ?`, source, millis(f.At.Add(-store.FiresKept)))
	})
}

// ListFires lists a trigger's since a time, newest first.
func (s fires) ListFires(ctx context.Context, trigger store.EntityKey, since time.Time, page store.Page) ([]store.Fire, string, error) {
	place := func(f store.Fire) moment { return momentOf(f.At, f.ID) }
	return byTime(ctx, s.db, page, newest, place, func(tx *sqlitedb.Tx, beyond moment, limit int) ([]store.Fire, error) {
		return rows(tx, func(row scanner) (store.Fire, error) { return scanFire(row, trigger) },
			`SELECT at, id, doc FROM fire WHERE source = ? AND at >= ? AND (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT ?`,
			entityKey(trigger), millis(since), beyond.at, beyond.id, limit)
	})
}

func scanFire(row scanner, trigger store.EntityKey) (store.Fire, error) {
	f := store.Fire{Trigger: trigger}
	var at int64
	var raw []byte
	if err := row.Scan(&at, &f.ID, &raw); err != nil {
		return store.Fire{}, err
	}
	var d fireDoc
	if err := json.Unmarshal(raw, &d); err != nil {
		return store.Fire{}, fmt.Errorf("decode fire %s: %w", f.ID, err)
	}
	f.At, f.Outcome, f.Reason, f.Execution, f.Subject = fromMillis(at), d.Outcome, d.Reason, d.Execution, d.Subject
	return f, nil
}
