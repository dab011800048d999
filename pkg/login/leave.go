package login

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Leaves ends the sessions and the tokens of users who are disabled or deleted.
// They open nothing from that moment on as it is; ended, they don't come back with
// the user. The password of who was deleted is forgotten.
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
		if err := l.end(ctx, key, "user "+key.ID+" is disabled or was deleted"); err != nil {
			return err
		}
		if fault.Is(err, fault.NotFound) {
			if err := l.forget(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// end ends all that a user has begun.
func (l Leaves) end(ctx context.Context, user store.EntityKey, why string) error {
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
				Time: l.Now(), Actor: "slipway", Scope: t.Scope, Action: audit.RevokeToken, Kind: string(kind), ID: t.ID, After: why,
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// forget deletes the password of a user who was deleted.
func (l Leaves) forget(ctx context.Context, user store.EntityKey) error {
	at := access.CredentialKey(user.Scope.Account, user.ID)
	kept, err := l.Store.Entity(ctx, at)
	if err == nil {
		err = l.Store.DeleteEntity(ctx, at, kept.Version, audit.Record{
			Time: l.Now(), Actor: "slipway", Scope: at.Scope, Action: audit.Delete, Kind: "password", ID: user.ID, Before: "of user " + user.ID + ", who was deleted",
		})
	}
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.StaleVersion) { // of one of that name who was saved meanwhile
		return nil
	}
	return err
}
