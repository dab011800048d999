// Package filestore is the file store: files that documents refer to by their
// path, such as manifests, values, scripts and config files
// (semantics/entities §10.1). It says which files may be saved, and what a
// reference to a file or to a folder means.
//
// How files are kept is pkg/store's. What uses them is pkg/resolve's on the
// control plane and delegate/manifest's on a delegate.
package filestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// MaxFile bounds a file, in bytes. On AWS it travels through a function,
// which takes and gives 6 MB at once, in a form that is a third larger.
const MaxFile = 4 << 20

// MaxFolder bounds how many files a reference to a folder may mean.
const MaxFolder = 1000

// AnyVersion as an expected version means that none is expected.
const AnyVersion = -1

// Config is what Files needs.
type Config struct {
	Store store.Files
	Now   func() time.Time
}

// Files holds the use cases.
type Files struct{ Config }

// New makes Files.
func New(cfg Config) *Files { return &Files{cfg} }

// Change says what a save did.
type Change string

// The changes.
const (
	Created    Change = "created"
	Configured Change = "configured"
	Unchanged  Change = "unchanged"
)

// maxRaces bounds how often a save is tried that may overwrite any version.
const maxRaces = 20

// Put saves a file. The content that is there already is no change.
// fault.StaleVersion says that what is stored isn't of the version given.
func (f *Files) Put(ctx context.Context, key ref.File, content []byte, version int64, by audit.Author) (store.File, Change, error) {
	if err := f.check(ctx, key, content); err != nil {
		return store.File{}, "", err
	}
	for range maxRaces {
		stored, err := f.Store.File(ctx, key)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return store.File{}, "", err
		}
		if version != AnyVersion && version != stored.Version {
			return store.File{}, "", store.Stale("file "+key.String(), version)
		}
		next := f.next(key, stored, content, by)
		change, action := Configured, audit.Update
		switch {
		case stored.Version == 0:
			change, action = Created, audit.Create
		case stored.Hash == next.Hash:
			return stored, Unchanged, nil
		}
		saved, err := f.Store.SaveFile(ctx, next, content, f.record(key, action, stored, next, by))
		if version == AnyVersion && fault.Is(err, fault.StaleVersion) {
			continue // somebody else's save came first; ours is the last
		}
		return saved, change, err
	}
	return store.File{}, "", fault.New(fault.Conflict, "others changed file %s %d times meanwhile; save it again", key, maxRaces)
}

func (f *Files) next(key ref.File, stored store.File, content []byte, by audit.Author) store.File {
	sum := sha256.Sum256(content)
	now := f.Now()
	next := store.File{
		Key: key, Version: stored.Version, Size: int64(len(content)), Hash: hex.EncodeToString(sum[:]), UpdatedBy: by.Actor,
		CreatedAt: stored.CreatedAt, UpdatedAt: now,
	}
	if stored.Version == 0 {
		next.CreatedAt = now
	}
	return next
}

// check refuses a file that can't be kept: its name, its size, or that it
// would be a file and a folder at the same time.
func (f *Files) check(ctx context.Context, key ref.File, content []byte) error {
	if err := ref.CheckFile(key.Path); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	if len(content) > MaxFile {
		return fault.New(fault.TooLarge, "file %s has %d bytes; the limit is %d", key, len(content), MaxFile)
	}
	within, _, err := f.Store.ListFiles(ctx, key, store.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(within) > 0 {
		return fault.New(fault.Conflict, "%s is a folder: it has the file %s", key, within[0].Key.Path)
	}
	for above := path.Dir(key.Path); above != "/"; above = path.Dir(above) {
		_, err := f.Store.File(ctx, ref.File{Scope: key.Scope, Path: above})
		if err == nil {
			return fault.New(fault.Conflict, "%s can't be in %s, which is a file and not a folder", key, above)
		}
		if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// record tells of a change. Contents stay out of the trail: they may be large,
// and the hash says which it was.
func (f *Files) record(key ref.File, action audit.Action, before, after store.File, by audit.Author) audit.Record {
	return audit.Record{
		Time: f.Now(), Actor: by.Actor, Scope: key.Scope, Action: action, Kind: "file", ID: key.Path,
		Before: describe(before), After: describe(after), Request: by.Request,
	}
}

func describe(f store.File) string {
	if f.Hash == "" {
		return ""
	}
	return fmt.Sprintf("%d bytes, sha256 %s", f.Size, f.Hash)
}

// Delete deletes a file, of the version given or of any. fault.Referenced names
// the documents that name it or a folder around it; forced, that is no matter.
func (f *Files) Delete(ctx context.Context, key ref.File, version int64, forced bool, by audit.Author) error {
	for range maxRaces {
		stored, err := f.Store.File(ctx, key)
		if err != nil {
			return err
		}
		if version != AnyVersion && version != stored.Version {
			return store.Stale("file "+key.String(), version)
		}
		err = f.Store.DeleteFile(ctx, key, stored.Version, forced, f.record(key, audit.Delete, stored, store.File{}, by))
		if version == AnyVersion && fault.Is(err, fault.StaleVersion) {
			continue
		}
		return err
	}
	return fault.New(fault.Conflict, "others changed file %s %d times meanwhile; delete it again", key, maxRaces)
}
