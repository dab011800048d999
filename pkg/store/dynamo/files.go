package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// files is store.Files.
type files struct {
	table      *table
	audits     audits
	references references // from entities to files
}

// A file's content is always outside of the table, so that lists of files
// don't read it, and in a blob of its own. Each past version is an item with its
// blob, which goes when the item expires.

func fileItem(f store.File) item {
	it := fileAt(f.Key).item()
	it["version"], it["size"], it["hash"], it["by"] = num(f.Version), num(f.Size), str(f.Hash), str(f.UpdatedBy)
	it["created"], it["updated"] = num(millis(f.CreatedAt)), num(millis(f.UpdatedAt))
	return it
}

func readFile(scope ref.Scope, it item) store.File {
	return store.File{
		Key: ref.File{Scope: scope, Path: text(it, "sk")}, Version: number(it, "version"), Size: number(it, "size"), Hash: text(it, "hash"),
		UpdatedBy: text(it, "by"), CreatedAt: fromMillis(number(it, "created")), UpdatedAt: fromMillis(number(it, "updated")),
	}
}

// SaveFile writes f over the version that it was read as.
func (s files) SaveFile(ctx context.Context, f store.File, content []byte, a audit.Record) (store.File, error) {
	lost := store.Stale("file "+f.Key.String(), f.Version)
	var before item
	if f.Version > 0 {
		var err error
		if before, err = s.table.get(ctx, fileAt(f.Key)); err != nil {
			return store.File{}, err
		}
		if before == nil || number(before, "version") != f.Version {
			return store.File{}, lost
		}
		f.CreatedAt = fromMillis(number(before, "created"))
	}
	var kept []write
	if f.Version > 0 {
		kept = append(kept, s.keepFile(f.Key.Scope, before, f.UpdatedAt))
	}
	read := num(f.Version)
	f.Version++
	it := fileItem(f)
	var err error
	if it["content"], err = s.table.outside(ctx, blobKey(content)+ownMark+rand.Text(), content); err != nil {
		return store.File{}, err
	}
	put := s.table.put(it, missing, nil, lost)
	if f.Version > 1 {
		put = s.table.put(it, "#version = :version", item{":version": read}, lost)
	}
	if err := s.audits.audited(ctx, a, append(kept, put)...); err != nil {
		if fault.Is(err, fault.StaleVersion) {
			s.table.abandon(ctx, put)
		}
		return store.File{}, fmt.Errorf("save file %s: %w", f.Key, err)
	}
	return f, nil
}

// File reads what is known of one.
func (s files) File(ctx context.Context, k ref.File) (store.File, error) {
	it, err := s.table.find(ctx, fileAt(k), "file %s", k)
	if err != nil {
		return store.File{}, err
	}
	return readFile(k.Scope, it), nil
}

// FileContent reads one with its content.
func (s files) FileContent(ctx context.Context, k ref.File) (store.File, []byte, error) {
	it, err := s.table.find(ctx, fileAt(k), "file %s", k)
	if err != nil {
		return store.File{}, nil, err
	}
	content, err := s.table.unpacked(ctx, it, "content")
	if err != nil {
		return store.File{}, nil, err
	}
	return readFile(k.Scope, it), content, nil
}

// ListFiles lists the files below a folder by path.
func (s files) ListFiles(ctx context.Context, folder ref.File, page store.Page) ([]store.File, string, error) {
	from, to := filesWithin(folder)
	list := join(filesPK(folder.Scope), from)
	after, err := s.table.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	from = max(from, after)
	found, err := s.table.query(ctx, query{
		pk: filesPK(folder.Scope), sk: "sk BETWEEN :from AND :to", values: item{":from": str(from), ":to": str(to)}, limit: limit + 2,
	})
	if err != nil {
		return nil, "", err
	}
	// A range includes its ends: the file that was given last, and one whose
	// name sorts right behind the folder's.
	if len(found) > 0 && text(found[0], "sk") == from {
		found = found[1:]
	}
	if n := len(found); n > 0 && text(found[n-1], "sk") == to {
		found = found[:n-1]
	}
	found, next, err := nextPage(s.table.pages, list, found, limit, func(it item) string { return text(it, "sk") })
	if err != nil {
		return nil, "", err
	}
	var files []store.File
	for _, it := range found {
		files = append(files, readFile(folder.Scope, it))
	}
	return files, next, nil
}

// DeleteFile deletes the given version unless entities name the file.
func (s files) DeleteFile(ctx context.Context, k ref.File, version int64, forced bool, a audit.Record) error {
	return s.audits.decided(ctx, a, func() ([]write, error) {
		before, err := s.table.find(ctx, fileAt(k), "file %s", k)
		if err != nil {
			return nil, err
		}
		if number(before, "version") != version {
			return nil, store.Stale("file "+k.String(), version)
		}
		var unreferenced []write
		if !forced {
			if unreferenced, err = s.references.unreferenced(ctx, "file "+k.String(), store.FileTargets(k)...); err != nil {
				return nil, err
			}
		}
		// errAgain: the next look tells whether it was changed or deleted.
		return append(unreferenced, s.keepFile(k.Scope, before, a.Time), s.table.remove(fileAt(k), "#version = :version", item{":version": num(version)}, errAgain)), nil
	})
}

// keepFile keeps a file that is about to change or to go as a past version,
// which has its blob from then on.
func (s files) keepFile(scope ref.Scope, before item, until time.Time) write {
	f := readFile(scope, before)
	f.Until = until
	it := maps.Clone(before)
	maps.Copy(it, pastFileAt(f).item())
	it["until"], it[Expires] = num(millis(until)), num(until.Add(store.PastFilesKept).Unix())
	return s.table.put(it, "", nil, nil)
}

// PastFiles lists past versions that were there at a moment.
func (s files) PastFiles(ctx context.Context, of ref.File, at time.Time) ([]store.File, error) {
	from, to := filesWithin(of)
	found, err := s.table.query(ctx, query{
		pk: pastFilesPK(of.Scope), sk: "sk BETWEEN :from AND :to", filter: "#updated <= :at AND #until > :at",
		values: item{":from": str(from), ":to": str(to), ":at": num(millis(at))},
	})
	var files []store.File
	for _, it := range found {
		f := readFile(of.Scope, it)
		f.Key.Path, f.Until = f.Key.Path[:strings.LastIndex(f.Key.Path, "//")], fromMillis(number(it, "until"))
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b store.File) int { return strings.Compare(a.Key.Path, b.Key.Path) })
	return files, err
}

// PastContent reads the content of a past version.
func (s files) PastContent(ctx context.Context, f store.File) ([]byte, error) {
	it, err := s.table.find(ctx, pastFileAt(f), "version %d of file %s", f.Version, f.Key)
	if err != nil {
		return nil, err
	}
	return s.table.unpacked(ctx, it, "content")
}
