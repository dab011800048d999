package sqlite

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// logs is store.Logs.
type logs struct{ db *sqlitedb.DB }

// AppendLog stores chunks; one that is there already stays as it is.
func (s logs) AppendLog(ctx context.Context, most int64, chunks ...store.LogChunk) error {
	if len(chunks) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		size := 0
		for _, c := range chunks {
			made, err := tx.Exec(`INSERT INTO log_chunk (stream, number, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
				c.Stream, c.Number, nonNil(c.Data))
			if err != nil {
				return err
			}
			if made > 0 {
				size += len(c.Data)
			}
		}
		return grow(tx, chunks[0].Stream, size, most)
	})
}

// grow counts a log's bytes, if there is room for them.
func grow(tx *sqlitedb.Tx, stream string, size int, most int64) error {
	if int64(size) > most {
		return store.LogFull(stream, most)
	}
	changed, err := tx.Exec(`INSERT INTO log_size (stream, bytes) VALUES (?, ?)
		ON CONFLICT (stream) DO UPDATE SET bytes = bytes + excluded.bytes WHERE bytes + excluded.bytes <= ?`, stream, size, most)
	if err == nil && changed == 0 {
		err = store.LogFull(stream, most)
	}
	return err
}

// ReadLog reads a stream's chunks from a number on.
func (s logs) ReadLog(ctx context.Context, stream string, from int64, limit int) ([]store.LogChunk, error) {
	return s.chunks(ctx, `number >= ? ORDER BY number`, stream, from, limit)
}

// LogEnd reads a stream's last chunks before a number, the last one first.
func (s logs) LogEnd(ctx context.Context, stream string, before int64, limit int) ([]store.LogChunk, error) {
	return s.chunks(ctx, `number < ? ORDER BY number DESC`, stream, before, limit)
}

func (s logs) chunks(ctx context.Context, where, stream string, number int64, limit int) ([]store.LogChunk, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.LogChunk, error) {
		return rows(tx, func(row scanner) (store.LogChunk, error) {
			c := store.LogChunk{Stream: stream}
			return c, row.Scan(&c.Number, &c.Data)
		}, `SELECT number, data FROM log_chunk WHERE stream = ? AND `+where+` LIMIT ?`, stream, number, bounded(limit))
	})
}
