// Package catalog saves and deletes what users write: documents, with all the
// checks that can be made before anything runs.
//
// What a document may hold is pkg/entity's and the step types'; how it is kept
// is pkg/store's. Nothing here runs a pipeline.
package catalog

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Catalog needs.
type Config struct {
	Store  store.Store
	Secret *secret.Keeper
	// Options say what documents are checked against, wherever they live.
	Options entity.Options
	Now     func() time.Time
	// Policies are asked before a save; nil: there are none, and none can be saved.
	Policies *judge.Judge
	// NoDirectory says why no LDAP directory can be asked here; empty: one can.
	NoDirectory string
	// Saved is told of what was saved or deleted, once it is; nil: nobody is.
	Saved func(ctx context.Context, keys ...store.EntityKey) error
}

// Catalog holds the use cases.
type Catalog struct {
	Config

	near *neighbours // of a set that is saved together
}

// New makes a Catalog.
func New(cfg Config) *Catalog { return &Catalog{Config: cfg} }

// options say what a draft is checked against.
func (c *Catalog) options(d Draft) entity.Options {
	o := c.Options
	o.Scope, o.Agent = d.Scope, d.Agent
	return o
}

// AnyVersion as an expected version means that none is expected.
const AnyVersion = -1

// Draft is a document that somebody wants to save.
type Draft struct {
	File   string    // for findings; may be empty
	Before int       // lines of the file above it; SaveAll alone heeds them
	Scope  ref.Scope // where it goes, as far as it doesn't say
	YAML   []byte
	// Strict makes a key that nobody documents an error instead of a warning.
	Strict bool
	// Version is the one that the draft was made from: 0 if there was none,
	// AnyVersion if it doesn't matter.
	Version int64
	// Agent is the GitOps agent that a document of Argo CD is for, as far as it
	// doesn't say.
	Agent string
	// Within is what the caller may touch: an infrastructure definition lives
	// where its environment does. None: Scope.
	Within ref.Scope
	// By is who saves it, and so must be allowed to; nil: Slipway itself.
	By *grants.Caller
	// Directory: it is what a directory says, which may change what it manages.
	Directory bool
	// AsOf is the access version by which who saves it has judged it: once that is
	// another, nothing is saved, which is fault.StaleVersion. nil: when it is saved.
	AsOf *int64

	checked bool // it is only checked, and nothing is saved
}

// Change says what a save did.
type Change string

// The changes.
const (
	Created    Change = "created"
	Configured Change = "configured"
	Unchanged  Change = "unchanged"
)

// Result is a document that was saved, or could be.
type Result struct {
	Key      store.EntityKey
	Version  int64 // stored now; of a check, the version that is there
	Change   Change
	Warnings []fault.Detail
}

// Check says what saving a draft would do. It changes nothing.
func (c *Catalog) Check(ctx context.Context, d Draft) (Result, error) {
	d.checked = true
	p, err := c.prepare(ctx, d)
	if err == nil {
		err = keeps(ctx, c, d.Scope.Account, d.By, p)
	}
	return p.result(), err
}

// Save stores a draft. fault.Invalid names everything that is wrong with it;
// fault.StaleVersion says that what is stored isn't what it was made from.
func (c *Catalog) Save(ctx context.Context, d Draft, by audit.Author) (Result, error) {
	for range maxRaces {
		p, err := c.prepare(ctx, d)
		if err == nil {
			err = keeps(ctx, c, d.Scope.Account, d.By, p)
		}
		if err != nil {
			return p.result(), c.keepDenial(ctx, p.next.Key, by, err)
		}
		if p.change != Unchanged {
			err = c.write(ctx, &p, by)
		}
		if err == nil && p.entity.Kind == ref.Template {
			err = c.stabilize(ctx, p.next.Key, by)
		}
		if (d.Version == AnyVersion || p.asOf != nil) && d.AsOf == nil && fault.Is(err, fault.StaleVersion) {
			continue // somebody else's save came first; ours is the last, or is judged again
		}
		if err == nil && (p.change != Unchanged || p.entity.Kind == ref.User) { // whose tokens may not all have ended the last time
			err = c.tell(ctx, p.next.Key)
		}
		return p.result(), err
	}
	return Result{}, fault.New(fault.Conflict, "others changed it %d times meanwhile; save it again", maxRaces)
}

// maxRaces bounds how often a save is tried that may overwrite any version.
const maxRaces = 20

// prepared is a draft that can be written.
type prepared struct {
	entity   *entity.Entity
	file     string       // of the draft, for findings
	before   int          // so many lines of it are before the document
	stored   store.Entity // as it is; its Version is 0 if there is none
	next     store.Entity // as it will be
	value    *string      // a secret's, taken out of the document
	change   Change
	warnings []fault.Detail
	// asOf is the access version by which it was judged: nil unless it has a say in who may
	// do what itself. What was judged against two documents that change at the same
	// moment could come to what neither allows.
	asOf *int64
}

func (p prepared) result() Result {
	return Result{Key: p.next.Key, Version: p.next.Version, Change: p.change, Warnings: p.warnings}
}

func (c *Catalog) prepare(ctx context.Context, d Draft) (prepared, error) {
	e, report, err := c.read(ctx, d)
	if err != nil {
		return prepared{}, err
	}
	return c.fitted(ctx, reading{draft: d, entity: e, report: report}, c.Store.Entity)
}

// fitted checks a draft that has been read against what there is; saved reads
// what it would replace.
func (c *Catalog) fitted(ctx context.Context, r reading, saved Find) (prepared, error) {
	d, e := r.draft, r.entity
	p := prepared{entity: e, file: d.File, before: d.Before, warnings: r.report.Details()}
	key := KeyOf(e)
	if within := cmp.Or(d.Within, d.Scope); !within.Covers(key.Scope) {
		return prepared{}, fault.New(fault.Forbidden, "%s would be saved in %s, and who saves it may only touch %s", key.Describe(), key.Scope, within)
	}
	refs, err := keysOf(e)
	if err != nil {
		return prepared{}, err
	}
	p.next = store.Entity{Key: key, Name: e.Name.Value, YAML: d.YAML, Refs: refs}
	if p.stored, err = saved(ctx, key); err != nil && !fault.Is(err, fault.NotFound) {
		return prepared{}, err
	}
	if p.asOf = d.AsOf; p.asOf == nil {
		if p.asOf, err = asOf(ctx, c.Store, key); err != nil {
			return prepared{}, err
		}
	}
	if p.asOf != nil && d.By != nil { // who may do what is judged as it was then, or later
		now := d.By.Now()
		d.By = &now
	}
	if err := allowed(ctx, d, p); err != nil {
		return prepared{}, err
	}
	if err := loggable(c.NoDirectory, d, e); err != nil {
		return prepared{}, err
	}
	if d.Version != AnyVersion && d.Version != p.stored.Version {
		return prepared{}, store.Stale(key.Describe(), d.Version)
	}
	p.next.Version = p.stored.Version
	if e.Kind == ref.Trigger && d.By != nil {
		p.next.By = d.By.Acting()
	}
	if e.Kind == ref.Secret {
		p.next.YAML, p.value, err = withoutValue(d.YAML)
	} else {
		p.next.YAML, p.value, err = c.apart(ctx, e, d, p.stored)
	}
	if err != nil {
		return prepared{}, err
	}
	if err := managed(ctx, d, p); err != nil {
		return prepared{}, err
	}
	if err := c.grantable(ctx, d, p); err != nil {
		return prepared{}, err
	}
	if err := c.near.oneMail(ctx, c.Store.Entities, e, d, p.stored); err != nil {
		return prepared{}, err
	}
	missing, err := c.missing(ctx, e)
	if err != nil {
		return prepared{}, err
	}
	p.warnings = append(p.warnings, missing...)
	if e.Kind == ref.Template && p.stored.Version > 0 {
		p.warnings = append(p.warnings, changedInputs(p.stored.YAML, d.YAML, d.File)...)
	}
	unfit, err := Find(c.Store.Entity).misfit(ctx, e, d, c.Options)
	if err != nil {
		return prepared{}, err
	}
	p.warnings = append(p.warnings, unfit...)
	clashes, err := c.beside(ctx, e, d)
	if err != nil {
		return prepared{}, err
	}
	p.warnings = append(p.warnings, clashes...)
	untrusted, err := c.untrusted(ctx, e, key, d)
	if err != nil {
		return prepared{}, err
	}
	p.warnings = append(p.warnings, untrusted...)
	if e.Kind == ref.Pipeline && p.stored.Version > 0 {
		outdated, err := c.outdated(ctx, key, d)
		if err != nil {
			return prepared{}, err
		}
		p.warnings = append(p.warnings, outdated...)
	}
	if p.change, err = c.compare(ctx, p); err != nil || p.change == Unchanged {
		return p, err
	}
	warned, err := c.judged(ctx, p, d)
	p.warnings = append(p.warnings, warned...)
	return p, err
}

// compare says what writing would change.
func (c *Catalog) compare(ctx context.Context, p prepared) (Change, error) {
	switch {
	case p.stored.Version == 0:
		return Created, nil
	case !bytes.Equal(p.stored.YAML, p.next.YAML):
		return Configured, nil
	case p.value == nil:
		return Unchanged, nil
	}
	kept, err := c.Secret.Of(ctx, p.next.Key)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return "", err
	}
	if err == nil && kept == *p.value {
		return Unchanged, nil
	}
	return Configured, nil
}

// write stores a prepared draft, with a secret's value.
func (c *Catalog) write(ctx context.Context, p *prepared, by audit.Author) error {
	one, err := c.saving(ctx, p, by)
	if err != nil {
		return err
	}
	if err := c.Found(ctx, by, p.next.Key.Scope); err != nil {
		return err
	}
	saved, err := judgedBy(c.Store.Entities, p.asOf).SaveEntity(ctx, one.Entity, one.Audit, one.Values...)
	c.changed(one.Entity.Key)
	if err != nil {
		return err
	}
	p.next = saved
	return nil
}

// asOf is the access version by which a change of a document is about to be judged; nil:
// it has no say in who may do what.
func asOf(ctx context.Context, entities store.Entities, changed store.EntityKey) (*int64, error) {
	if !ref.OfAccess(changed.Kind) {
		return nil, nil
	}
	now, err := entities.AccessVersion(ctx, changed.Scope.Account)
	return &now, err
}

// judgedBy are the entities for a change that was judged at an access version, if it was.
func judgedBy(entities store.Entities, access *int64) store.Entities {
	if access == nil {
		return entities
	}
	return entities.Judged(*access)
}

// saving is a prepared draft as the store takes it.
func (c *Catalog) saving(ctx context.Context, p *prepared, by audit.Author) (store.Save, error) {
	key := p.next.Key
	var values []store.Secret
	if p.value != nil {
		v, err := c.Secret.Sealed(ctx, key, *p.value)
		if err != nil {
			return store.Save{}, err
		}
		values = append(values, v)
	}
	action := audit.Update
	if p.change == Created {
		action = audit.Create
	}
	p.next.UpdatedBy, p.next.UpdatedAt, p.next.CreatedAt = by.Actor, c.Now(), p.stored.CreatedAt
	if p.change == Created {
		p.next.CreatedAt = p.next.UpdatedAt
	}
	record := c.record(key, by, action)
	record.Before, record.After = string(p.stored.YAML), string(p.next.YAML)
	return store.Save{Entity: p.next, Audit: record, Values: values}, nil
}

func (c *Catalog) record(key store.EntityKey, by audit.Author, action audit.Action) audit.Record {
	return audit.Record{
		Time: c.Now(), Actor: by.Actor, Scope: key.Scope, Action: action, Kind: string(key.Kind), ID: key.ID, Request: by.Request,
	}
}

// Delete deletes an entity of the given version, or of any. fault.Referenced
// names who still needs it. Of a template it is one version, which may be
// unnamed if there is no other.
func (c *Catalog) Delete(ctx context.Context, key store.EntityKey, version int64, by audit.Author, who Deleter) error {
	if key.Kind == ref.Template {
		var err error
		if key, err = c.versionOf(ctx, key); err != nil {
			return err
		}
	}
	stored, err := c.Store.Entity(ctx, key)
	if err != nil {
		return err
	}
	if version == AnyVersion {
		version = stored.Version
	}
	if key.Kind == ref.Template && version == stored.Version {
		if err := c.release(ctx, key, by); err != nil {
			return err
		}
	}
	judged, err := asOf(ctx, c.Store, key)
	if err != nil {
		return err
	}
	if err := managed(ctx, Draft{By: who.By, Directory: who.Directory}, prepared{stored: stored}); err != nil {
		return err
	}
	if who.Directory {
		if err := provisions(ctx, who.By, key.Scope.Account); err != nil {
			return err
		}
	}
	if err := keeps(ctx, c, key.Scope.Account, who.By, prepared{stored: stored}); err != nil {
		return err
	}
	if err := c.scopes().empty(ctx, key); err != nil {
		return err
	}
	record := c.record(key, by, audit.Delete)
	record.Before = string(stored.YAML)
	err = judgedBy(c.Store.Entities, judged).DeleteEntity(ctx, key, version, record)
	c.changed(key)
	if err != nil {
		return err
	}
	return c.tell(ctx, key)
}

// tell says that something was saved or deleted, to who wants to know.
func (c *Catalog) tell(ctx context.Context, keys ...store.EntityKey) error {
	if c.Config.Saved == nil || len(keys) == 0 {
		return nil
	}
	if err := c.Config.Saved(ctx, keys...); err != nil {
		return fault.New(fault.CodeOf(err), "it was done, but who waits for it wasn't told: %w", err)
	}
	return nil
}
