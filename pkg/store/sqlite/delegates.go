package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// delegates is store.Delegates.
type delegates struct {
	db     *sqlitedb.DB
	recent *recentDelegates
}

// delegateDoc is what no query asks a delegate for.
type delegateDoc struct {
	Scope     ref.Scope     `json:"scope"`
	Name      string        `json:"name"`
	Host      string        `json:"host,omitempty"`
	Tags      []string      `json:"tags,omitempty"`
	Version   string        `json:"version,omitempty"`
	Kinds     []task.Kind   `json:"kinds,omitempty"`
	Capacity  int           `json:"capacity"`
	Running   int           `json:"running"`
	Draining  bool          `json:"draining,omitempty"`
	TokenID   string        `json:"token,omitempty"`
	StartedAt int64         `json:"started,omitempty"`
	Quiet     time.Duration `json:"quiet,omitempty"`
	Line      int64         `json:"line,omitempty"`
	Unplugged int64         `json:"unplugged,omitempty"`

	Binding *store.Binding `json:"binding,omitempty"`
	Machine string         `json:"machine,omitempty"`
	Tools   []string       `json:"tools,omitempty"`
}

func encodeDelegate(d store.Delegate) (string, error) {
	doc, err := json.Marshal(delegateDoc{
		Scope: d.Scope, Name: d.Name, Host: d.Host, Tags: d.Tags, Version: d.Version, Kinds: d.Kinds, Capacity: d.Capacity,
		Running: d.Running, Draining: d.Draining, TokenID: d.TokenID, StartedAt: millis(d.StartedAt), Quiet: d.Quiet,
		Line: d.Line, Unplugged: d.Unplugged, Binding: d.Binding, Machine: d.Machine, Tools: d.Tools,
	})
	if err != nil {
		return "", fmt.Errorf("encode delegate %s: %w", d.ID, err)
	}
	return string(doc), nil
}

func scanDelegate(row scanner) (store.Delegate, error) {
	var id string
	var seen int64
	var raw []byte
	if err := row.Scan(&id, &seen, &raw); err != nil {
		return store.Delegate{}, err
	}
	var d delegateDoc
	if err := json.Unmarshal(raw, &d); err != nil {
		return store.Delegate{}, fmt.Errorf("decode delegate %s: %w", id, err)
	}
	return store.Delegate{
		ID: id, Scope: d.Scope, Name: d.Name, Host: d.Host, Tags: d.Tags, Version: d.Version, Kinds: d.Kinds, Capacity: d.Capacity,
		Running: d.Running, Draining: d.Draining, TokenID: d.TokenID, LastSeen: fromMillis(seen), StartedAt: fromMillis(d.StartedAt), Quiet: d.Quiet,
		Line: d.Line, Unplugged: d.Unplugged, Binding: d.Binding, Machine: d.Machine, Tools: d.Tools,
	}, nil
}

// Statements about one delegate.
const (
	delegateColumns = `id, last_seen, doc`
	selectDelegate  = `SELECT ` + delegateColumns + ` FROM delegate WHERE account = ? AND id = ?`
)

// PutDelegate registers one.
func (s delegates) PutDelegate(ctx context.Context, d store.Delegate) error {
	doc, err := encodeDelegate(d)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		known, err := scanDelegate(tx.QueryRow(selectDelegate, d.Scope.Account, d.ID))
		switch {
		case err == nil && known.TokenID != d.TokenID:
			return fault.New(fault.Forbidden, "delegate %s registered with another token", d.ID)
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		}
		return s.keepDelegate(tx, d.Scope.Account, `INSERT OR REPLACE INTO delegate (account, id, last_seen, doc) VALUES (?, ?, ?, ?)`,
			d.Scope.Account, d.ID, millis(d.LastSeen), doc)
	})
}

// BeatDelegate takes in a sign of life.
func (s delegates) BeatDelegate(ctx context.Context, account, id string, b store.Beat) error {
	return s.changeDelegate(ctx, account, id, func(d store.Delegate) store.Delegate { return d.Heard(b) })
}

// UnplugDelegate takes in that a socket of the delegate has closed.
func (s delegates) UnplugDelegate(ctx context.Context, account, id string, line int64, at time.Time) error {
	err := s.changeDelegate(ctx, account, id, func(d store.Delegate) store.Delegate { return d.Unplug(line, at) })
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// changeDelegate changes one that is there, in one transaction.
func (s delegates) changeDelegate(ctx context.Context, account, id string, change func(store.Delegate) store.Delegate) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		d, err := scanDelegate(tx.QueryRow(selectDelegate, account, id))
		if err != nil {
			return missing(err, "delegate %q", id)
		}
		d = change(d)
		doc, err := encodeDelegate(d)
		if err != nil {
			return err
		}
		return s.keepDelegate(tx, account, `UPDATE delegate SET last_seen = ?, doc = ? WHERE account = ? AND id = ?`, millis(d.LastSeen), doc, account, id)
	})
}

// keepDelegate runs a statement that writes one.
func (s delegates) keepDelegate(tx *sqlitedb.Tx, account, statement string, args ...any) error {
	d, err := scanDelegate(tx.QueryRow(statement+` RETURNING `+delegateColumns, args...))
	if err == nil {
		tx.Then(func() { s.recent.put(account, d) })
	}
	return err
}

// ListDelegates lists those of an account seen since the given time, by id.
func (s delegates) ListDelegates(ctx context.Context, account string, since time.Time) ([]store.Delegate, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Delegate, error) {
		return rows(tx, scanDelegate, `SELECT id, last_seen, doc FROM delegate WHERE account = ? AND last_seen >= ? ORDER BY id`,
			account, millis(since))
	})
}

// Delegate reads one.
func (s delegates) Delegate(ctx context.Context, account, id string) (store.Delegate, error) {
	if d, ok := s.recent.delegate(account, id); ok {
		return d, nil
	}
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Delegate, error) {
		d, err := scanDelegate(tx.QueryRow(selectDelegate, account, id))
		return d, missing(err, "delegate %q", id)
	})
}

// DeleteDelegate forgets one.
func (s delegates) DeleteDelegate(ctx context.Context, account, id string) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		tx.Then(func() { s.recent.drop(account, id) })
		return exec(tx, `DELETE FROM delegate WHERE account = ? AND id = ?`, account, id)
	})
}
