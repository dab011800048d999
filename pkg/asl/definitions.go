package asl

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// A run goes on with the definition that it began with, whatever this program
// brings, as it does on AWS. Definitions are kept once each, by their hash.

func hashOf(definition string) string {
	sum := sha256.Sum256([]byte(definition))
	return hex.EncodeToString(sum[:16])
}

// keepDefinitions stores this program's definitions. Runs of a release that
// kept none are taken to have begun with these.
func (e *Engine) keepDefinitions(ctx context.Context) error {
	return e.DB.Write(ctx, func(tx *sqlitedb.Tx) error {
		for name, m := range e.Machines {
			if _, err := tx.Exec(`INSERT INTO asl_definitions VALUES (?, ?) ON CONFLICT DO NOTHING`, m.hash, m.text); err != nil {
				return fmt.Errorf("keep definition %s: %w", name, err)
			}
			if _, err := tx.Exec(`UPDATE asl_runs SET definition = ? WHERE status = 'RUNNING' AND definition = '' AND machine = ?`, m.hash, name); err != nil {
				return fmt.Errorf("keep definition %s: %w", name, err)
			}
		}
		return nil
	})
}

// definition is the machine of a hash. The engine is locked.
func (e *Engine) definition(ctx context.Context, name, hash string) (*Machine, error) {
	if m := e.Machines[name]; m != nil && m.hash == hash {
		return m, nil
	}
	if m := e.older[hash]; m != nil {
		return m, nil
	}
	var text string
	err := e.DB.Read(ctx, func(tx *sqlitedb.Tx) error {
		return tx.QueryRow(`SELECT definition FROM asl_definitions WHERE hash = ?`, hash).Scan(&text)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %q of the hash %q", ErrStateMachineUnknown, name, hash)
	}
	if err != nil {
		return nil, fmt.Errorf("read definition %s: %w", hash, err)
	}
	m, err := Parse(name, []byte(text), nil)
	if err != nil {
		return nil, err
	}
	e.older[hash] = m
	return m, nil
}
