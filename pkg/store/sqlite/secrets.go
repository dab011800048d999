package sqlite

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// secrets is store.Secrets.
type secrets struct{ db *sqlitedb.DB }

// PutSecret stores a ciphertext over the one before.
func (s secrets) PutSecret(ctx context.Context, v store.Secret) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error { return putSecret(tx, v) })
}

func putSecret(tx *sqlitedb.Tx, v store.Secret) error {
	return exec(tx, `INSERT OR REPLACE INTO secret (key, ciphertext, updated_at) VALUES (?, ?, ?)`,
		entityKey(v.Key), nonNil(v.Ciphertext), millis(v.UpdatedAt))
}

// Secret reads one.
func (s secrets) Secret(ctx context.Context, key store.EntityKey) (store.Secret, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Secret, error) {
		v := store.Secret{Key: key}
		var updated int64
		err := tx.QueryRow(`SELECT ciphertext, updated_at FROM secret WHERE key = ?`, entityKey(key)).Scan(&v.Ciphertext, &updated)
		v.UpdatedAt = fromMillis(updated)
		return v, missing(err, "the value of %s", key.Describe())
	})
}
