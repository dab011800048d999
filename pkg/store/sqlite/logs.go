package sqlite

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// AppendLog stores chunks; one that is there already stays as it is.
func (s *Store) AppendLog(ctx context.Context, chunks ...store.LogChunk) error {
	if len(chunks) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		for _, c := range chunks {
			if err := exec(tx, `INSERT INTO log_chunk (stream, number, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
				c.Stream, c.Number, nonNil(c.Data)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReadLog reads a stream's chunks from a number on.
func (s *Store) ReadLog(ctx context.Context, stream string, from int64, limit int) ([]store.LogChunk, error) {
	return read(ctx, s, func(tx *sqlitedb.Tx) ([]store.LogChunk, error) {
		return rows(tx, func(row scanner) (store.LogChunk, error) {
			c := store.LogChunk{Stream: stream}
			return c, row.Scan(&c.Number, &c.Data)
		}, `SELECT number, data FROM log_chunk WHERE stream = ? AND number >= ? ORDER BY number LIMIT ?`, stream, from, bounded(limit))
	})
}
