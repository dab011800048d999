package dynamo

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// keys is store.Keys.
type keys struct{ table *table }

// tokenDoc is what no condition asks a token for.
type tokenDoc struct {
	Hash      []byte          `json:"hash"`
	Kind      store.TokenKind `json:"kind"`
	Scope     ref.Scope       `json:"scope"`
	Name      string          `json:"name,omitempty"`
	Actor     string          `json:"actor,omitempty"`
	Revoked   bool            `json:"revoked,omitempty"`
	CreatedAt int64           `json:"created,omitempty"`

	Binding *store.Binding `json:"binding,omitempty"`

	Of        string `json:"of,omitempty"`
	ExpiresAt int64  `json:"expires,omitempty"`

	Principal string `json:"principal,omitempty"` // as entityText

	Login store.LoggedIn `json:"login,omitzero"`
}

// PutToken stores a token over the one with its id.
func (s keys) PutToken(ctx context.Context, t store.AccessToken) error {
	it := tokenAt(t.ID).item()
	it["id"], it["pk1"], it["sk1"] = str(t.ID), str(tokensPK(t.Scope.Account, t.Kind)), str(t.ID)
	principal := ""
	if t.Principal != (store.EntityKey{}) {
		principal = entityText(t.Principal)
	}
	if err := s.table.encode(ctx, it, "doc", tokenDoc{
		Hash: t.Hash, Kind: t.Kind, Scope: t.Scope, Name: t.Name, Actor: t.Actor, Revoked: t.Revoked, CreatedAt: millis(t.CreatedAt), Binding: t.Binding,
		Of: t.Of, ExpiresAt: millis(t.ExpiresAt), Principal: principal, Login: t.Login,
	}, largestValue); err != nil {
		return err
	}
	if !t.LastUsed.IsZero() {
		it["used"] = num(millis(t.LastUsed))
	}
	_, _, err := s.table.place(ctx, it, "")
	return err
}

// UseToken keeps that a token was used on a day, in an attribute of its own.
func (s keys) UseToken(ctx context.Context, id string, day time.Time) error {
	_, _, err := s.table.change(ctx, tokenAt(id), "SET #used = :day",
		"attribute_exists(#id) AND (attribute_not_exists(#used) OR #used < :day)", item{":day": num(millis(day))})
	return err
}

func readToken(ctx context.Context, b bodies, it item) (store.AccessToken, error) {
	var d tokenDoc
	if err := b.decode(ctx, it, "doc", &d); err != nil {
		return store.AccessToken{}, err
	}
	var principal store.EntityKey
	if d.Principal != "" {
		var err error
		if principal, err = parseEntity(d.Principal); err != nil {
			return store.AccessToken{}, err
		}
	}
	return store.AccessToken{
		ID: text(it, "id"), Hash: d.Hash, Kind: d.Kind, Scope: d.Scope, Name: d.Name, Actor: d.Actor, Revoked: d.Revoked,
		CreatedAt: fromMillis(d.CreatedAt), Binding: d.Binding, Of: d.Of, ExpiresAt: fromMillis(d.ExpiresAt), Principal: principal, Login: d.Login,
		LastUsed: fromMillis(number(it, "used")),
	}, nil
}

// Token reads one.
func (s keys) Token(ctx context.Context, id string) (store.AccessToken, error) {
	it, err := s.table.find(ctx, tokenAt(id), "token %q", id)
	if err != nil {
		return store.AccessToken{}, err
	}
	return readToken(ctx, s.table.bodies, it)
}

// ListTokens lists an account's tokens of a kind, by id.
func (s keys) ListTokens(ctx context.Context, account string, kind store.TokenKind) ([]store.AccessToken, error) {
	found, err := s.table.query(ctx, query{index: IndexAccount, pk: tokensPK(account, kind)})
	if err != nil {
		return nil, err
	}
	keys := make([]key, len(found))
	for i, it := range found {
		keys[i] = keyOf(it)
	}
	if found, err = s.table.getAll(ctx, keys); err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, readToken)
}
