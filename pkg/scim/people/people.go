// Package people keeps what a directory says over SCIM of users and groups in
// their documents.
//
// It is given how documents are saved and deleted: by pkg/catalog, so that its checks
// count, its audit records are written, and whoever waits for a change hears of it.
//
// A directory sees and changes what it manages, and nothing else of the account. What
// it sends and how is pkg/scim's.
package people

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Document is a document of a user or a group that is to be saved.
type Document struct {
	Scope   ref.Scope
	Text    []byte
	Version int64 // that it was made from; 0: there was none
	// By is the directory that says it; nil: it is Slipway's own to save.
	By *grants.Caller
	// AsOf is the access version by which it was judged; nil: none.
	AsOf *int64
}

// Save saves a document: fault.StaleVersion, if it was made from another version
// or judged at another access version than there is.
type Save func(ctx context.Context, d Document, by audit.Author) error

// Remove deletes a document for a directory.
type Remove func(ctx context.Context, key store.EntityKey, who grants.Caller, by audit.Author) error

// People are the users and the groups of accounts.
type People struct {
	store   store.Entities
	write   Save
	discard Remove
}

// New makes People.
func New(entities store.Entities, save Save, remove Remove) *People {
	return &People{store: entities, write: save, discard: remove}
}

// Asker is who asks for a change: a directory, by its token.
type Asker struct {
	By     grants.Caller
	Author audit.Author
}

func (a Asker) account() ref.Scope { return ref.Scope{Account: a.By.As().Within.Account} }

// maxRaces bounds how often a change is tried that others get in the way of.
const maxRaces = 20

// settled tries a change until nobody gets in its way. It is judged by what there
// is at an access version, and counts as long as that stays.
func (p *People) settled(ctx context.Context, a Asker, try func(asOf int64) error) error {
	for range maxRaces {
		now, err := p.store.AccessVersion(ctx, a.account().Account)
		if err != nil {
			return err
		}
		if err := try(now); !fault.Is(err, fault.StaleVersion) {
			return err
		}
	}
	return fault.New(fault.Unavailable, "others changed users or groups %d times meanwhile; ask again", maxRaces)
}

// save writes a document over the version that it was made from.
func (p *People) save(ctx context.Context, a Asker, asOf int64, text []byte, version int64) error {
	return p.write(ctx, Document{Scope: a.account(), Text: text, Version: version, By: &a.By, AsOf: &asOf}, a.Author)
}

// doc is a document as it was saved.
type doc struct {
	saved store.Entity
	of    *entity.Entity
}

// one reads a document that a directory manages.
func (p *People) one(ctx context.Context, key store.EntityKey) (doc, error) {
	missing := fault.New(fault.NotFound, "there is no %s that is managed over SCIM", key.Describe())
	if ref.CheckID(key.Kind, key.ID) != nil {
		return doc{}, missing
	}
	saved, err := p.store.Entity(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return doc{}, missing
	}
	if err != nil {
		return doc{}, err
	}
	d := decoded(saved)
	if !d.managed() {
		return doc{}, missing
	}
	return d, nil
}

func decoded(saved store.Entity) doc { return doc{saved, grants.Decoded(saved)} }

func (d doc) managed() bool {
	switch {
	case d.of == nil:
	case d.of.User != nil:
		return d.of.User.Directory.Managed
	case d.of.UserGroup != nil:
		return d.of.UserGroup.Directory.Managed
	}
	return false
}

// all reads the documents of a kind, by their ids.
func (p *People) all(ctx context.Context, account ref.Scope, kind ref.Kind) ([]doc, error) {
	var out []doc
	for saved, err := range store.All(ctx, p.store, account, kind, "") {
		if err != nil {
			return nil, fmt.Errorf("read the account's %ss: %w", kind, err)
		}
		if d := decoded(saved); d.of != nil {
			out = append(out, d)
		}
	}
	return out, nil
}
