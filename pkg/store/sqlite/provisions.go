package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
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

// ListProvisioners lists what was done last by each provisioner of a scope.
func (s provisions) ListProvisioners(ctx context.Context, scope ref.Scope, page store.Page) ([]store.Provision, string, error) {
	after, err := placeAfter(page.Token, 3)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	list, err := read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Provision, error) {
		keys, err := rows(tx, func(row scanner) (store.ProvisionerKey, error) {
			k := store.ProvisionerKey{Scope: scope}
			return k, row.Scan(&k.Kind, &k.Identifier, &k.Workspace)
		}, selectProvisioners, scopeKey(scope), after[0], after[1], after[2], limit+1)
		if err != nil {
			return nil, err
		}
		out := make([]store.Provision, len(keys))
		for i, k := range keys {
			out[i], err = scanProvision(tx.QueryRow(selectLastProvision, scopeKey(scope), string(k.Kind), k.Identifier, k.Workspace))
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	if err != nil {
		return nil, "", err
	}
	list, next := paged(list, limit, func(p store.Provision) string { return join(string(p.Key.Kind), p.Key.Identifier, p.Key.Workspace) })
	return list, next, nil
}

const (
	selectProvisioners = `SELECT DISTINCT kind, identifier, workspace FROM provision
		WHERE scope = ? AND (kind, identifier, workspace) > (?, ?, ?) ORDER BY kind, identifier, workspace LIMIT ?`
	selectLastProvision = `SELECT scope, kind, identifier, workspace, execution, version, step, task, status, at, place, x'', x'' FROM provision
		WHERE scope = ? AND kind = ? AND identifier = ? AND workspace = ? ORDER BY at DESC, execution LIMIT 1`
)

// ForgetProvisions deletes what executions have done by a provisioner.
func (s provisions) ForgetProvisions(ctx context.Context, known []store.Provision, a audit.Record) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		for _, p := range known {
			var version int64
			row := tx.QueryRow(`DELETE FROM provision WHERE scope = ? AND kind = ? AND identifier = ? AND workspace = ? AND execution = ? AND version = ? RETURNING version`,
				scopeKey(p.Key.Scope), string(p.Key.Kind), p.Key.Identifier, p.Key.Workspace, p.Execution, p.Version)
			err := row.Scan(&version)
			if errors.Is(err, sql.ErrNoRows) {
				return store.Stale("what was provisioned", p.Version)
			}
			if err != nil {
				return err
			}
		}
		_, err := appendAudit(tx, a)
		return err
	})
}
