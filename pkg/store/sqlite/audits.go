package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// audits is store.Audits.
type audits struct{ db *sqlitedb.DB }

// appendAudit chains a record to its account's last one.
func appendAudit(tx *sqlitedb.Tx, a audit.Record) (audit.Record, error) {
	var sequence int64
	var hash string
	err := tx.QueryRow(`SELECT sequence, hash FROM audit WHERE account = ? ORDER BY sequence DESC LIMIT 1`, a.Scope.Account).Scan(&sequence, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return audit.Record{}, err
	}
	r, err := audit.Chain(a, sequence, hash)
	if err != nil {
		return audit.Record{}, err
	}
	doc, err := json.Marshal(r)
	if err != nil {
		return audit.Record{}, fmt.Errorf("encode audit record %d: %w", r.Sequence, err)
	}
	return r, exec(tx, `INSERT INTO audit (account, sequence, hash, doc) VALUES (?, ?, ?, ?)`, a.Scope.Account, r.Sequence, r.Hash, string(doc))
}

// AppendAudit appends a record that belongs to no other change.
func (s audits) AppendAudit(ctx context.Context, a audit.Record) (audit.Record, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (audit.Record, error) { return appendAudit(tx, a) })
}

// AppendAuditOnce appends a record, unless one was appended under the key.
func (s audits) AppendAuditOnce(ctx context.Context, a audit.Record, key string, expires time.Time) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		made, err := tx.Exec(`INSERT INTO answer (key, request_hash, status, body, expires) VALUES (?, x'', 0, x'', ?) ON CONFLICT DO NOTHING`,
			key, millis(expires))
		if err != nil || made == 0 {
			return err
		}
		_, err = appendAudit(tx, a)
		return err
	})
}

// ListAudit lists an account's records from a sequence number on.
func (s audits) ListAudit(ctx context.Context, account string, from int64, limit int) ([]audit.Record, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]audit.Record, error) {
		return rows(tx, func(row scanner) (audit.Record, error) {
			var doc []byte
			if err := row.Scan(&doc); err != nil {
				return audit.Record{}, err
			}
			var r audit.Record
			if err := json.Unmarshal(doc, &r); err != nil {
				return audit.Record{}, fmt.Errorf("decode an audit record of account %q: %w", account, err)
			}
			return r, nil
		}, `SELECT doc FROM audit WHERE account = ? AND sequence >= ? ORDER BY sequence LIMIT ?`, account, from, bounded(limit))
	})
}

// LastAudit is the sequence of an account's last record.
func (s audits) LastAudit(ctx context.Context, account string) (int64, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (int64, error) {
		var last int64
		err := tx.QueryRow(`SELECT sequence FROM audit WHERE account = ? ORDER BY sequence DESC LIMIT 1`, account).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		return last, err
	})
}

// RemovedAudit is the place of the last record that was removed.
func (s audits) RemovedAudit(ctx context.Context, account string) (audit.Place, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (audit.Place, error) { return removedAudit(tx, account) })
}

func removedAudit(tx *sqlitedb.Tx, account string) (audit.Place, error) {
	var p audit.Place
	err := tx.QueryRow(`SELECT sequence, hash FROM audit_removed WHERE account = ?`, account).Scan(&p.Sequence, &p.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return p, err
}

// trimmed bounds one transaction, which others wait for.
const trimmed = 500

// TrimAudit removes an account's records up to a place.
func (s audits) TrimAudit(ctx context.Context, account string, upTo audit.Place, a audit.Record) error {
	removed, err := write(ctx, s.db, func(tx *sqlitedb.Tx) (audit.Place, error) {
		removed, err := removedAudit(tx, account)
		if err != nil || upTo.Sequence <= removed.Sequence {
			return removed, err
		}
		if _, err := appendAudit(tx, a); err != nil {
			return removed, err
		}
		return upTo, exec(tx, `INSERT OR REPLACE INTO audit_removed (account, sequence, hash) VALUES (?, ?, ?)`, account, upTo.Sequence, upTo.Hash)
	})
	for more := true; more && err == nil; {
		var gone int64
		gone, err = write(ctx, s.db, func(tx *sqlitedb.Tx) (int64, error) {
			return tx.Exec(`DELETE FROM audit WHERE account = ? AND sequence IN (
				SELECT sequence FROM audit WHERE account = ? AND sequence <= ? ORDER BY sequence LIMIT ?)`, account, account, removed.Sequence, trimmed)
		})
		more = gone == trimmed
	}
	return err
}
