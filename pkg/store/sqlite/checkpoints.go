package sqlite

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// checkpoints is store.Checkpoints.
type checkpoints struct{ db *sqlitedb.DB }

const checkpointColumns = `execution, stage, key, step, task, at, data`

func scanCheckpoint(row scanner) (store.Checkpoint, error) {
	var c store.Checkpoint
	var at int64
	err := row.Scan(&c.Execution, &c.Stage, &c.Key, &c.Step, &c.Task, &at, &c.Data)
	c.At = time.Unix(0, at).UTC()
	return c, err
}

// KeepCheckpoint stores the first checkpoint of a key of a stage.
func (s checkpoints) KeepCheckpoint(ctx context.Context, c store.Checkpoint, delegate string, fence, most int64) (store.Checkpoint, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (store.Checkpoint, error) {
		t, err := readTask(tx, c.Task)
		if err != nil {
			return store.Checkpoint{}, err
		}
		if t.Status != store.TaskClaimed || t.Delegate != delegate || t.Fence != fence {
			return store.Checkpoint{}, leaseLost(t, delegate, fence)
		}
		made, err := tx.Exec(`INSERT INTO checkpoint (execution, stage, key, step, task, at, size, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.Execution, string(c.Stage), c.Key, string(c.Step), string(c.Task), c.At.UnixNano(), c.Size(), nonNil(c.Data))
		if err != nil {
			return store.Checkpoint{}, err
		}
		if made == 0 {
			return scanCheckpoint(tx.QueryRow(`SELECT `+checkpointColumns+` FROM checkpoint WHERE execution = ? AND stage = ? AND key = ?`,
				c.Execution, string(c.Stage), c.Key))
		}
		var bytes int64
		if err := tx.QueryRow(`SELECT SUM(size) FROM checkpoint WHERE execution = ? AND stage = ?`, c.Execution, string(c.Stage)).Scan(&bytes); err != nil {
			return store.Checkpoint{}, err
		}
		if bytes > most {
			return store.Checkpoint{}, store.CheckpointsFull(c.Stage, most)
		}
		return c, nil
	})
}

// ListCheckpoints lists those of a stage, the newest first.
func (s checkpoints) ListCheckpoints(ctx context.Context, execution string, stage plan.NodeID) ([]store.Checkpoint, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Checkpoint, error) {
		return rows(tx, scanCheckpoint, `SELECT `+checkpointColumns+` FROM checkpoint WHERE execution = ? AND stage = ? ORDER BY at DESC, key`, execution, string(stage))
	})
}
