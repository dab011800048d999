// Package secret keeps values that must not be read: those of secrets whose
// manager is the built-in one, and outputs of steps that are declared secret
// (semantics/entities §10).
//
// A value is encrypted before it reaches a store and decrypted only for the
// task that was claimed. The package doesn't know who may ask, and it masks
// nothing: that is pkg/redact.
package secret

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Store is what a Keeper keeps ciphertexts in.
type Store interface {
	store.Secrets
	store.Entities
}

// Keeper encrypts values on their way into a store and decrypts them on their
// way out. It is for many goroutines.
type Keeper struct {
	master Master
	store  Store
	now    func() time.Time
}

// New gives a Keeper with a master key over a store.
func New(master Master, s Store, now func() time.Time) *Keeper {
	return &Keeper{master: master, store: s, now: now}
}

// String names the key and shows nothing of it.
func (k *Keeper) String() string { return "secrets under " + k.master.String() }

// GoString is String: %#v must not show what is inside either.
func (k *Keeper) GoString() string { return k.String() }

// Put keeps the value of a secret, in place of an older one.
func (k *Keeper) Put(ctx context.Context, r ref.Ref, value string) error {
	return k.put(ctx, secretKey(r), value)
}

// Sealed is what is kept apart of an entity's document, such as a secret's value, as
// it is to be stored with the entity.
func (k *Keeper) Sealed(ctx context.Context, entity store.EntityKey, value string) (store.Secret, error) {
	return k.sealed(ctx, entity, value)
}

// Of is what is kept apart of an entity's document; fault.NotFound if there is
// nothing.
func (k *Keeper) Of(ctx context.Context, entity store.EntityKey) (string, error) {
	kept, err := k.store.Secret(ctx, entity)
	if err != nil {
		return "", err
	}
	value, err := k.Open(ctx, entity, kept.Ciphertext)
	return string(value), err
}

// Values is Of where several values are kept apart, by their names; none if there is
// nothing.
func (k *Keeper) Values(ctx context.Context, entity store.EntityKey) (map[string]string, error) {
	text, err := k.Of(ctx, entity)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var values map[string]string
	if json.Unmarshal([]byte(text), &values) != nil { // the error would say what is in it
		return nil, fault.New(fault.Internal, "what is kept apart of %s can't be read", entity.Describe())
	}
	return values, nil
}

// Keep keeps a value that no entity defines, such as a step's secret output,
// under an id that is unique in the scope. It gives the name for Reveal. The
// same id again replaces the value.
func (k *Keeper) Keep(ctx context.Context, scope ref.Scope, id, value string) (string, error) {
	key := store.EntityKey{Scope: scope, Kind: kindOutput, ID: id}
	return name(key), k.put(ctx, key, value)
}

// Kept gives a value that Keep has kept; fault.NotFound if there is none.
func (k *Keeper) Kept(ctx context.Context, scope ref.Scope, id string) (string, error) {
	return k.Reveal(ctx, name(store.EntityKey{Scope: scope, Kind: kindOutput, ID: id}))
}

func (k *Keeper) put(ctx context.Context, key store.EntityKey, value string) error {
	v, err := k.sealed(ctx, key, value)
	if err != nil {
		return err
	}
	return k.store.PutSecret(ctx, v)
}

func (k *Keeper) sealed(ctx context.Context, key store.EntityKey, value string) (store.Secret, error) {
	text, err := k.Seal(ctx, key, []byte(value))
	return store.Secret{Key: key, Ciphertext: text, UpdatedAt: k.now()}, err
}

// Reveal gives the value behind a name that Name or Keep made. A secret
// without a value here is fault.NotFound; the message says what to do.
func (k *Keeper) Reveal(ctx context.Context, name string) (string, error) {
	key, err := parseName(name)
	if err != nil {
		return "", err
	}
	kept, err := k.store.Secret(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return "", k.explain(ctx, key)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", describe(key), err)
	}
	value, err := k.Open(ctx, key, kept.Ciphertext)
	return string(value), err
}

// RevealAll gives the values behind names, each under its key, to an execution
// in a scope. A secret that isn't for that scope is fault.Forbidden.
func (k *Keeper) RevealAll(ctx context.Context, scope ref.Scope, names map[string]string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	values := make(map[string]string, len(names))
	for key, name := range names {
		if owner, err := ScopeOf(name); err != nil || !owner.Covers(scope) {
			return nil, fault.New(fault.Forbidden, "%s isn't for executions in %s", name, scope)
		}
		v, err := k.Reveal(ctx, name)
		if err != nil {
			return nil, err
		}
		values[key] = v
	}
	return values, nil
}

// explain says why there is no value.
func (k *Keeper) explain(ctx context.Context, key store.EntityKey) error {
	_, err := k.store.Entity(ctx, key)
	switch {
	case err == nil:
		return fault.New(fault.NotFound, "%s has no value here; save it with the manager harnessSecretManager and an inline value", describe(key))
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.NotFound, "%s doesn't exist", describe(key))
	}
	return err
}
