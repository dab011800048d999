package sqlite

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// turns is store.Turns.
type turns struct{ db *sqlitedb.DB }

func queue(tx *sqlitedb.Tx, key string) ([]store.Holder, error) {
	return rows(tx, func(row scanner) (store.Holder, error) {
		var h store.Holder
		return h, row.Scan(&h.Execution, &h.Node)
	}, `SELECT execution, node FROM turn WHERE key = ? ORDER BY place`, key)
}

// TakeTurn puts a holder at the end of a queue.
func (s turns) TakeTurn(ctx context.Context, key string, h store.Holder) ([]store.Holder, error) {
	return apply(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Holder, error) {
		err := exec(tx, `INSERT INTO turn (key, place, execution, node)
			VALUES (?, (SELECT coalesce(max(place), 0) + 1 FROM turn WHERE key = ?), ?, ?) ON CONFLICT DO NOTHING`,
			key, key, h.Execution, string(h.Node))
		if err != nil {
			return nil, err
		}
		return queue(tx, key)
	})
}

// EndTurn takes a holder out of a queue.
func (s turns) EndTurn(ctx context.Context, key string, h store.Holder) ([]store.Holder, error) {
	return apply(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Holder, error) {
		if err := exec(tx, `DELETE FROM turn WHERE key = ? AND execution = ? AND node = ?`, key, h.Execution, string(h.Node)); err != nil {
			return nil, err
		}
		return queue(tx, key)
	})
}
