package asl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

const (
	// Retention is how long runs that have ended are kept, and with them their
	// names, as on AWS: afterwards a name may be used again.
	Retention = 90 * 24 * time.Hour
	// sweepEvery is how often runs over the retention are deleted.
	sweepEvery = time.Hour
	// sweepBatch bounds one transaction, which others wait for.
	sweepBatch = 500
)

// Sweep deletes what has ended for longer than the retention, and definitions
// that no run has any more. The engine calls it each hour.
func (e *Engine) Sweep(ctx context.Context) error {
	before := e.now().Add(-e.Retention).UnixMilli()
	for {
		var n int64
		err := e.DB.Write(ctx, func(tx *sqlitedb.Tx) (err error) {
			n, err = tx.Exec(`DELETE FROM asl_runs WHERE name IN
				(SELECT name FROM asl_runs WHERE status <> 'RUNNING' AND ended < ? AND started < ? LIMIT ?)`, before, before, sweepBatch)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete runs that ended long ago: %w", err)
		}
		if n < sweepBatch {
			return e.sweepDefinitions(ctx)
		}
	}
}

func (e *Engine) sweepDefinitions(ctx context.Context) error {
	err := e.DB.Write(ctx, func(tx *sqlitedb.Tx) error {
		if _, err := tx.Exec(`DELETE FROM asl_definitions WHERE hash NOT IN (SELECT definition FROM asl_runs WHERE status = 'RUNNING')`); err != nil {
			return err
		}
		for _, m := range e.Machines {
			if _, err := tx.Exec(`INSERT INTO asl_definitions VALUES (?, ?) ON CONFLICT DO NOTHING`, m.hash, m.text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete definitions that nothing uses: %w", err)
	}
	return nil
}

// keep sweeps until the engine is closed.
func (e *Engine) keep() {
	defer e.work.Done()
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := e.Sweep(e.ctx); err != nil && e.ctx.Err() == nil && !errors.Is(err, sqlitedb.ErrClosed) {
			e.Log.ErrorContext(e.ctx, "couldn't delete old runs", "error", err)
		}
		select {
		case <-tick.C:
		case <-e.closing:
			return
		}
	}
}
