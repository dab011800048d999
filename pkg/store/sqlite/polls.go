package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// polls is store.Polls.
type polls struct{ db *sqlitedb.DB }

// SavePoll writes one of the version that was read.
func (s polls) SavePoll(ctx context.Context, p store.Poll) (store.Poll, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (store.Poll, error) {
		var have int64
		err := tx.QueryRow(`SELECT version FROM poll WHERE source = ?`, entityKey(p.Key)).Scan(&have)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return store.Poll{}, err
		}
		if have != p.Version {
			return store.Poll{}, store.Stale(fmt.Sprintf("the poll of trigger %s", p.Key.ID), p.Version)
		}
		p.Version++
		doc, err := json.Marshal(p)
		if err != nil {
			return store.Poll{}, fmt.Errorf("encode the poll of trigger %s: %w", p.Key.ID, err)
		}
		return p, exec(tx, `INSERT OR REPLACE INTO poll (source, version, doc) VALUES (?, ?, ?)`, entityKey(p.Key), p.Version, string(doc))
	})
}

// Poll reads that of a trigger.
func (s polls) Poll(ctx context.Context, trigger store.EntityKey) (store.Poll, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Poll, error) {
		var raw []byte
		err := tx.QueryRow(`SELECT doc FROM poll WHERE source = ?`, entityKey(trigger)).Scan(&raw)
		if err != nil {
			return store.Poll{}, missing(err, "a poll of trigger %s", trigger.ID)
		}
		var p store.Poll
		if err := json.Unmarshal(raw, &p); err != nil {
			return store.Poll{}, fmt.Errorf("decode the poll of trigger %s: %w", trigger.ID, err)
		}
		return p, nil
	})
}

// DeletePoll forgets that of a trigger.
func (s polls) DeletePoll(ctx context.Context, trigger store.EntityKey) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		return exec(tx, `DELETE FROM poll WHERE source = ?`, entityKey(trigger))
	})
}
