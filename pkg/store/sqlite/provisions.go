package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// provisions is store.Provisions.
type provisions struct{ db *sqlitedb.DB }

const provisionColumns = `scope, kind, identifier, workspace, execution, version, step, task, status, at, place, before, inputs`

func scanProvision(row scanner) (store.Provision, error) {
	var p store.Provision
	var scope string
	var at int64
	err := row.Scan(&scope, &p.Key.Kind, &p.Key.Identifier, &p.Key.Workspace, &p.Execution, &p.Version, &p.Step, &p.Task, &p.Status, &at, &p.Place, &p.Before, &p.Inputs)
	if err != nil {
		return p, err
	}
	p.At = time.Unix(0, at).UTC()
	p.Key.Scope, err = parseScope(scope)
	return p, err
}

// SaveProvision stores what an execution has done by a provisioner.
func (s provisions) SaveProvision(ctx context.Context, p store.Provision, delegate string, fence int64, forget []string) (store.Provision, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (store.Provision, error) {
		t, err := readTask(tx, p.Task)
		if err != nil {
			return store.Provision{}, err
		}
		if t.Status != store.TaskClaimed || t.Delegate != delegate || t.Fence != fence {
			return store.Provision{}, leaseLost(t, delegate, fence)
		}
		of := []any{scopeKey(p.Key.Scope), string(p.Key.Kind), p.Key.Identifier, p.Key.Workspace}
		const key = ` WHERE scope = ? AND kind = ? AND identifier = ? AND workspace = ? AND execution = ?`
		var have int64
		err = tx.QueryRow(`SELECT version FROM provision`+key, append(of, p.Execution)...).Scan(&have)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return store.Provision{}, err
		}
		if have != p.Version {
			return store.Provision{}, store.Stale("what was provisioned", p.Version)
		}
		p.Version++
		err = exec(tx, `INSERT OR REPLACE INTO provision (`+provisionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(of, p.Execution,
			p.Version, string(p.Step), string(p.Task), string(p.Status), p.At.UnixNano(), nonNil(p.Place), nonNil(p.Before), nonNil(p.Inputs))...)
		for _, execution := range forget {
			if err == nil {
				err = exec(tx, `DELETE FROM provision`+key, append(of, execution)...)
			}
		}
		return p, err
	})
}

// ListProvisions lists what executions have done by a provisioner.
func (s provisions) ListProvisions(ctx context.Context, k store.ProvisionerKey) ([]store.Provision, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Provision, error) {
		return rows(tx, scanProvision, `SELECT `+provisionColumns+` FROM provision
			WHERE scope = ? AND kind = ? AND identifier = ? AND workspace = ? ORDER BY at DESC, execution`,
			scopeKey(k.Scope), string(k.Kind), k.Identifier, k.Workspace)
	})
}
