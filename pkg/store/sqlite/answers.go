package sqlite

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

func readAnswer(tx *sqlitedb.Tx, key string) (store.Answer, error) {
	a := store.Answer{Key: key}
	var expires int64
	err := tx.QueryRow(`SELECT request_hash, status, body, expires FROM answer WHERE key = ?`, key).
		Scan(&a.RequestHash, &a.Status, &a.Body, &expires)
	a.Expires = fromMillis(expires)
	return a, missing(err, "an answer to idempotency key %q", key)
}

// PutAnswer stores the first answer to a key; it says whether this one was.
func (s keys) PutAnswer(ctx context.Context, a store.Answer) (store.Answer, bool, error) {
	first := false
	kept, err := write(ctx, s.db, func(tx *sqlitedb.Tx) (store.Answer, error) {
		made, err := tx.Exec(`INSERT INTO answer (key, request_hash, status, body, expires) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			a.Key, nonNil(a.RequestHash), a.Status, nonNil(a.Body), millis(a.Expires))
		if err != nil {
			return store.Answer{}, err
		}
		first = made > 0
		return readAnswer(tx, a.Key)
	})
	return kept, first && err == nil, err
}

// swept is how many expired answers one look forgets: more than one request
// can add, so that they don't pile up.
const swept = 100

// Answer reads one that hasn't expired. The expired ones that it finds are
// forgotten, so that their keys can be used again.
func (s keys) Answer(ctx context.Context, key string, now time.Time) (store.Answer, error) {
	expired := false
	a, err := read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Answer, error) {
		err := tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM answer WHERE expires <= ?)`, millis(now)).Scan(&expired)
		if err != nil {
			return store.Answer{}, err
		}
		return readAnswer(tx, key)
	})
	if expired {
		if err := s.sweep(ctx, key, now); err != nil {
			return store.Answer{}, err
		}
	}
	if err == nil && !now.Before(a.Expires) {
		return store.Answer{}, fault.New(fault.NotFound, "the answer to idempotency key %q has expired", key)
	}
	return a, err
}

func (s keys) sweep(ctx context.Context, key string, now time.Time) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		if err := exec(tx, `DELETE FROM answer WHERE key = ? AND expires <= ?`, key, millis(now)); err != nil {
			return err
		}
		return exec(tx, `DELETE FROM answer WHERE key IN (SELECT key FROM answer WHERE expires <= ? ORDER BY expires LIMIT ?)`, millis(now), swept)
	})
}
