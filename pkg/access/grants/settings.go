package grants

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Settings are those that hold in a scope.
func (r *Reader) Settings(ctx context.Context, scope ref.Scope) (setting.Settings, error) {
	around, err := r.Set(ctx, scope)
	return setting.Of(around), err
}

// Set are the settings that are saved in a scope and in those around it, as
// ref.Scope.Around has them.
func (r *Reader) Set(ctx context.Context, scope ref.Scope) ([]setting.Settings, error) {
	at, err := r.current(ctx, scope.Account)
	if err != nil {
		return nil, err
	}
	return r.setAround(ctx, at, scope)
}

// Settings are those that hold in a scope of the caller's account.
func (c Caller) Settings(ctx context.Context, scope ref.Scope) (setting.Settings, error) {
	if c.reader == nil {
		return setting.Settings{}, fault.New(fault.Forbidden, "nobody asks for this")
	}
	at, err := c.current(ctx)
	if err != nil {
		return setting.Settings{}, err
	}
	around, err := c.reader.setAround(ctx, at, scope)
	return setting.Of(around), err
}

// Open refuses a caller by a session whose time is over by the settings of the account as
// they are now, whatever they were when it began. It gives them; of no session none.
func (c Caller) Open(ctx context.Context, t store.AccessToken, now time.Time) (setting.Settings, error) {
	if t.Kind != store.TokenSession {
		return setting.Settings{}, nil
	}
	set, err := c.Settings(ctx, ref.Scope{Account: t.Scope.Account})
	if err != nil {
		return set, err
	}
	if now.Sub(t.CreatedAt) >= set.Session() || set.SessionInactivity > 0 && now.Sub(t.Seen()) >= set.SessionInactivity {
		return set, fault.New(fault.Unauthenticated, "the session has ended; log in again")
	}
	return set, nil
}

func (r *Reader) setAround(ctx context.Context, at *known, scope ref.Scope) ([]setting.Settings, error) {
	var around []setting.Settings
	for _, s := range scope.Around() {
		one, err := r.set(ctx, at, s)
		if err != nil {
			return nil, err
		}
		around = append(around, one)
	}
	return around, nil
}

// set are the settings of a scope itself.
func (r *Reader) set(ctx context.Context, at *known, scope ref.Scope) (setting.Settings, error) {
	if s, ok := kept(at, at.settings, scope); ok {
		return s, nil
	}
	saved, err := r.entities.Entity(ctx, SettingsKey(scope))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return setting.Settings{}, err
	}
	s, err := SettingsOf(saved)
	if err == nil {
		keep(at, at.settings, scope, s)
	}
	return s, err
}

// SettingsKey is where the settings of a scope are kept.
func SettingsKey(scope ref.Scope) store.EntityKey {
	return store.EntityKey{Scope: scope, Kind: ref.Setting, ID: setting.ID}
}

// SettingsOf reads settings as they were saved. Those that can't be read let nothing
// through that would ask for them: they may have forbidden it.
func SettingsOf(saved store.Entity) (setting.Settings, error) {
	if saved.Version == 0 {
		return setting.Settings{}, nil
	}
	if e := Decoded(saved); e != nil && e.Setting != nil {
		return *e.Setting, nil
	}
	return setting.Settings{}, fault.New(fault.Conflict, "the settings of %s can't be read by this version of Slipway; save them anew", saved.Key.Scope)
}
