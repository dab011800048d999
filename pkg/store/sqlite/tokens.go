package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// keys is store.Keys.
type keys struct {
	db     *sqlitedb.DB
	recent *recentTokens
}

// tokenDoc is what no query asks a token for.
type tokenDoc struct {
	Hash      []byte    `json:"hash"`
	Scope     ref.Scope `json:"scope"`
	Name      string    `json:"name,omitempty"`
	Actor     string    `json:"actor,omitempty"`
	Revoked   bool      `json:"revoked,omitempty"`
	CreatedAt int64     `json:"created,omitempty"`

	Binding *store.Binding `json:"binding,omitempty"`

	Of        string `json:"of,omitempty"`
	ExpiresAt int64  `json:"expires,omitempty"`

	Principal string `json:"principal,omitempty"` // as entityKey

	Login store.LoggedIn `json:"login,omitzero"`
}

func scanToken(row scanner) (store.AccessToken, error) {
	var t store.AccessToken
	var raw []byte
	var used int64
	if err := row.Scan(&t.ID, &t.Kind, &raw, &used); err != nil {
		return store.AccessToken{}, err
	}
	var d tokenDoc
	if err := json.Unmarshal(raw, &d); err != nil {
		return store.AccessToken{}, fmt.Errorf("decode token %s: %w", t.ID, err)
	}
	t.Hash, t.Scope, t.Name, t.Actor, t.Revoked, t.CreatedAt = d.Hash, d.Scope, d.Name, d.Actor, d.Revoked, fromMillis(d.CreatedAt)
	t.Binding, t.Of, t.ExpiresAt, t.Login = d.Binding, d.Of, fromMillis(d.ExpiresAt), d.Login
	t.LastUsed = fromMillis(used)
	if d.Principal != "" {
		var err error
		t.Principal, err = parseEntityKey(d.Principal)
		return t, err
	}
	return t, nil
}

// PutToken stores a token over the one with its id.
func (s keys) PutToken(ctx context.Context, t store.AccessToken) error {
	principal := ""
	if t.Principal != (store.EntityKey{}) {
		principal = entityKey(t.Principal)
	}
	doc, err := json.Marshal(tokenDoc{
		Hash: t.Hash, Scope: t.Scope, Name: t.Name, Actor: t.Actor, Revoked: t.Revoked, CreatedAt: millis(t.CreatedAt), Binding: t.Binding,
		Of: t.Of, ExpiresAt: millis(t.ExpiresAt), Principal: principal, Login: t.Login,
	})
	if err != nil {
		return fmt.Errorf("encode token %s: %w", t.ID, err)
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		tx.Then(func() { s.recent.forget(t.ID) })
		return exec(tx, `INSERT OR REPLACE INTO token (id, account, kind, doc, used) VALUES (?, ?, ?, ?, ?)`,
			t.ID, t.Scope.Account, string(t.Kind), string(doc), millis(t.LastUsed))
	})
}

// UseToken keeps that a token was used on a day.
func (s keys) UseToken(ctx context.Context, id string, day time.Time) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		tx.Then(func() { s.recent.forget(id) })
		return exec(tx, `UPDATE token SET used = ? WHERE id = ? AND used < ?`, millis(day), id, millis(day))
	})
}

// Token reads one.
func (s keys) Token(ctx context.Context, id string) (store.AccessToken, error) {
	kept, known, puts := s.recent.token(id)
	if known {
		return kept, nil
	}
	t, err := read(ctx, s.db, func(tx *sqlitedb.Tx) (store.AccessToken, error) {
		t, err := scanToken(tx.QueryRow(`SELECT id, kind, doc, used FROM token WHERE id = ?`, id))
		return t, missing(err, "token %q", id)
	})
	if err == nil {
		s.recent.keep(t, puts)
	}
	return t, err
}

// ListTokens lists an account's tokens of a kind, by id.
func (s keys) ListTokens(ctx context.Context, account string, kind store.TokenKind) ([]store.AccessToken, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.AccessToken, error) {
		return rows(tx, scanToken, `SELECT id, kind, doc, used FROM token WHERE account = ? AND kind = ? ORDER BY id`, account, string(kind))
	})
}
