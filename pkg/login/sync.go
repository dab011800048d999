package login

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger/cron"
)

// Whoever logs in by a directory has rights for as long as a token lasts, which is
// long after the last login. So the directories are asked between logins, too:
// whom they have taken out of a group isn't in it here, and whom they no longer
// have is let in nowhere.

// Sync asks the directories about the people of a Desk between logins.
type Sync struct{ Desk *Desk }

// Run asks each directory when the server starts and when its document says,
// until ctx ends.
func (s Sync) Run(ctx context.Context) error {
	d := s.Desk
	if d.Directory == nil {
		return nil
	}
	var last time.Time
	for {
		now := d.Now()
		if err := s.Pass(ctx, last, now); err != nil && ctx.Err() == nil {
			d.Log.ErrorContext(ctx, "directories couldn't be asked about their people, who stay as they were", "error", err)
		}
		last = now
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Minute):
		}
	}
}

// Pass asks the directories that were due after since, until now; the zero time has
// each be due.
func (s Sync) Pass(ctx context.Context, since, now time.Time) error {
	d := s.Desk
	var failed []error
	for saved, err := range store.All(ctx, d.Store, ref.Scope{Account: d.Account}, ref.LoginProvider, "") {
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		e := grants.Decoded(saved)
		if e == nil || e.LoginProvider == nil || e.LoginProvider.Type != sso.LDAP || !due(e.LoginProvider.Directory.Sync, since, now) {
			continue
		}
		if err := s.one(ctx, *e.LoginProvider, saved.CreatedAt); err != nil {
			failed = append(failed, fmt.Errorf("login provider %s: %w", saved.Key.ID, err))
		}
	}
	return errors.Join(failed...)
}

func due(schedule string, since, now time.Time) bool {
	if since.IsZero() {
		return true
	}
	at, err := cron.ParseAny(schedule)
	if err != nil { // it was found wrong on save
		return false
	}
	next, ok := at.Next(since.UTC())
	return ok && !next.After(now)
}

// one keeps what a directory says of its people now.
func (s Sync) one(ctx context.Context, p sso.Provider, made time.Time) error {
	d := s.Desk
	people, err := s.bindings(ctx, p, made)
	if err != nil || len(people) == 0 {
		return err
	}
	secret, err := d.secret(ctx, p)
	if err != nil {
		return err
	}
	subjects := make([]string, len(people))
	for i, b := range people {
		subjects[i] = b.Subject
	}
	there, err := d.Directory.Look(ctx, p, secret, subjects)
	if err != nil {
		return err
	}
	if len(there) == 0 && len(people) > 1 {
		// Somebody has moved the directory, rather than that all have left at once.
		return fmt.Errorf("the directory has none of the %d users who log in by it; see its userQueries", len(people))
	}
	for _, b := range people {
		user := store.EntityKey{Scope: ref.Scope{Account: d.Account}, Kind: ref.User, ID: b.User}
		said, found := there[b.Subject]
		if !found {
			said = Claims{Subject: b.Subject, All: map[string]any{p.GroupsClaim: []any{}}}
		}
		err := d.bind(ctx, p, said, b, binding{user: b.User, address: b.Email})
		if err == nil && !found {
			err = Leaves{Store: d.Store, Now: d.Now}.end(ctx, user, "the directory of the login provider "+p.ID+" no longer has user "+b.User)
		}
		if err != nil && !fault.Is(err, fault.StaleVersion) { // who has just logged in is as the directory says
			return err
		}
	}
	return nil
}

// bindings are those of the users who log in by a provider.
func (s Sync) bindings(ctx context.Context, p sso.Provider, made time.Time) ([]kept, error) {
	d := s.Desk
	var all []kept
	for saved, err := range store.All(ctx, d.Store, ref.Scope{Account: d.Account}, ref.LoginBinding, "") {
		if err != nil {
			return nil, err
		}
		if !sso.OfUser(saved.Key.ID) || !sso.Decode(saved.YAML).Is(p, made) {
			continue
		}
		b, err := d.binding(ctx, p, made, store.EntityKey{Scope: saved.Key.Scope, Kind: ref.User, ID: saved.Key.ID})
		if err != nil {
			return nil, err
		}
		if b.Subject != "" && b.Provider == p.ID {
			all = append(all, b)
		}
	}
	return all, nil
}
