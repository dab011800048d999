package login

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Leaves ends the sessions and the tokens of users who are disabled or deleted.
// They open nothing from that moment on as it is; ended, they don't come back with
// the user.
type Leaves struct {
	Store store.Store
	Now   func() time.Time
}

// Saved looks at what was saved or deleted.
func (l Leaves) Saved(ctx context.Context, keys ...store.EntityKey) error {
	for _, key := range keys {
		if key.Kind != ref.User {
			continue
		}
		saved, err := l.Store.Entity(ctx, key)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if e := grants.Decoded(saved); err == nil && e != nil && e.User != nil && !e.User.Disabled {
			continue
		}
		if err := l.end(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func (l Leaves) end(ctx context.Context, user store.EntityKey) error {
	for _, kind := range []store.TokenKind{store.TokenSession, store.TokenUser} {
		all, err := l.Store.ListTokens(ctx, user.Scope.Account, kind)
		if err != nil {
			return err
		}
		for _, t := range all {
			if t.Principal != user || t.Revoked {
				continue
			}
			t.Revoked = true
			if err := l.Store.PutToken(ctx, t); err != nil {
				return err
			}
			_, err := l.Store.AppendAudit(ctx, audit.Record{
				Time: l.Now(), Actor: "slipway", Scope: t.Scope, Action: audit.RevokeToken, Kind: string(kind), ID: t.ID, After: "user " + user.ID + " is disabled or was deleted",
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
