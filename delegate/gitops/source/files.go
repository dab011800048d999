package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
)

const (
	// MaxFile is how many bytes a file may have.
	MaxFile = 10 << 20
	// MaxFiles is how many files an application may have.
	MaxFiles = 50_000
	// maxLinks bounds how many links are on the way to a file.
	maxLinks = 40
)

// objects are folders and files by ids that say what is in them: those of a Git
// commit, or of an archive that was unpacked.
type objects interface {
	List(ctx context.Context, ids ...string) (map[string][]gitfetch.Entry, error)
	Blobs(ctx context.Context, ids []string, most int) (map[string][]byte, error)
}

// Files are the files of a source at a revision. Paths have slashes and begin at
// the topmost folder; links are followed as far as they stay there.
//
// What was read is remembered, so that it can be told whether another revision has
// the same. It is for one goroutine.
type Files struct {
	URL      string
	Revision string

	root    string
	objects objects
	seen    map[string]string // what was read
}

// File is a file or a folder.
type File struct {
	Path   string // without links
	Folder bool

	id string
}

// Find finds a file or a folder; fault.NotFound if there is none.
func (f *Files) Find(ctx context.Context, at string) (File, error) {
	found, err := f.find(ctx, at)
	if fault.Is(err, fault.NotFound) {
		f.seen["? "+path.Clean(at)] = ""
	}
	return found, err
}

func (f *Files) find(ctx context.Context, at string) (File, error) {
	rest, err := inside(at)
	if err != nil {
		return File{}, err
	}
	here := File{Path: ".", Folder: true, id: f.root}
	for links := 0; rest != "."; {
		name, more, _ := strings.Cut(rest, "/")
		if more == "" {
			more = "."
		}
		if !here.Folder {
			return File{}, fault.New(fault.NotFound, "there is no file or folder %s", at)
		}
		e, err := f.entry(ctx, here.id, name)
		if err != nil {
			return File{}, err
		}
		below := path.Join(here.Path, name)
		switch {
		case e == nil:
			return File{}, fault.New(fault.NotFound, "there is no file or folder %s", at)
		case e.Kind == gitfetch.Link:
			if links++; links > maxLinks {
				return File{}, fault.New(fault.Invalid, "the link %s leads in a circle", below)
			}
			to, err := f.follow(ctx, here.Path, below, e.ID)
			if err != nil {
				return File{}, err
			}
			here, rest = File{Path: ".", Folder: true, id: f.root}, path.Join(to, more)
		case e.Kind == gitfetch.Module:
			return File{}, fault.New(fault.Unsupported, "%s is a submodule, which isn't fetched", below)
		default:
			here, rest = File{Path: below, Folder: e.Kind == gitfetch.Folder, id: e.ID}, more
		}
	}
	return here, nil
}

// inside is a path from the topmost folder, which it doesn't leave.
func inside(at string) (string, error) {
	clean := path.Clean(strings.TrimLeft(at, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fault.New(fault.Invalid, "the path %s leads out of the repository", at)
	}
	return clean, nil
}

// entry is one in a folder; nil if there is none.
func (f *Files) entry(ctx context.Context, folder, name string) (*gitfetch.Entry, error) {
	all, err := f.objects.List(ctx, folder)
	if err != nil {
		return nil, err
	}
	entries := all[folder]
	if i := slices.IndexFunc(entries, func(e gitfetch.Entry) bool { return e.Name == name }); i >= 0 {
		return &entries[i], nil
	}
	return nil, nil
}

// follow says where a link in a folder leads to.
func (f *Files) follow(ctx context.Context, folder, link, id string) (string, error) {
	f.seen["> "+link] = id
	got, err := f.objects.Blobs(ctx, []string{id}, MaxFile)
	if err != nil {
		return "", err
	}
	to := string(got[id])
	if path.IsAbs(to) {
		return "", fault.New(fault.Invalid, "%s is a link that leads out of the repository, to %s", link, to)
	}
	out, err := inside(path.Join(folder, to))
	if err != nil {
		return "", fault.New(fault.Invalid, "%s is a link that leads out of the repository, to %s", link, to)
	}
	return out, nil
}

// Read gives the texts of files, which have at most some bytes together.
func (f *Files) Read(ctx context.Context, most int, files ...File) ([][]byte, error) {
	ids := make([]string, len(files))
	for i, file := range files {
		ids[i] = file.id
		f.seen["= "+file.Path] = file.id
	}
	got, err := f.objects.Blobs(ctx, ids, most)
	if fault.Is(err, fault.TooLarge) {
		return nil, fault.New(fault.TooLarge, "the files have more than %d MiB together", most>>20).Causing(fault.ResourceLimitsFailure, fault.Unknown)
	}
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(files))
	for i := range files {
		out[i] = got[ids[i]]
	}
	return out, nil
}

// List gives what is in a folder, by name. Links are what they lead to; one that
// leads nowhere is left out.
func (f *Files) List(ctx context.Context, folder File) (map[string]File, error) {
	entries, err := f.objects.List(ctx, folder.id)
	if err != nil {
		return nil, err
	}
	f.seen["/ "+folder.Path] = listing(entries[folder.id])
	out := map[string]File{}
	for _, e := range entries[folder.id] {
		at := path.Join(folder.Path, e.Name)
		switch e.Kind {
		case gitfetch.Regular, gitfetch.Folder:
			out[e.Name] = File{Path: at, Folder: e.Kind == gitfetch.Folder, id: e.ID}
		case gitfetch.Link, gitfetch.Module:
			found, err := f.Find(ctx, at)
			if fault.Is(err, fault.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out[e.Name] = found
		}
	}
	return out, nil
}

// Whole gives the texts of all files below a folder, by their names below it. All of
// them count as read.
func (f *Files) Whole(ctx context.Context, folder File, most int) (map[string][]byte, error) {
	f.seen["* "+folder.Path] = folder.id
	names, files, err := f.below(ctx, folder)
	if err != nil {
		return nil, err
	}
	aside := f.Aside() // the folder's id stands for them
	texts, err := aside.Read(ctx, most, files...)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for i, name := range names {
		out[name] = texts[i]
		if !strings.HasPrefix(files[i].Path, folder.Path+"/") && folder.Path != "." { // it was linked to
			f.seen["= "+files[i].Path] = files[i].id
		}
	}
	return out, nil
}

// maxEntries bounds how many files and folders Tree gives.
const maxEntries = 500_000

// Tree gives all files and folders by their paths, from the top. Links are files if
// they lead to one; else they are left out.
func (f *Files) Tree(ctx context.Context) ([]File, error) {
	var out []File
	for level := []File{{Path: ".", Folder: true, id: f.root}}; len(level) > 0; {
		ids := make([]string, len(level))
		for i := range level {
			ids[i] = level[i].id
		}
		entries, err := f.objects.List(ctx, ids...)
		if err != nil {
			return nil, err
		}
		var next []File
		for _, folder := range level {
			for _, e := range entries[folder.id] {
				one := File{Path: path.Join(folder.Path, e.Name), Folder: e.Kind == gitfetch.Folder, id: e.ID}
				switch e.Kind {
				case gitfetch.Module:
					continue
				case gitfetch.Link:
					found, err := f.find(ctx, one.Path)
					if err != nil || found.Folder {
						continue // it leads to no file, which is no matter unless somebody reads it
					}
					one.id = found.id
				case gitfetch.Folder:
					next = append(next, one)
				case gitfetch.Regular:
				}
				if out = append(out, one); len(out) > maxEntries {
					return nil, fault.New(fault.TooLarge, "the repository has more than %d files and folders", maxEntries).Causing(fault.ResourceLimitsFailure)
				}
			}
		}
		level = next
	}
	return out, nil
}

// below are the files below a folder, with their names below it.
func (f *Files) below(ctx context.Context, top File) (names []string, files []File, err error) {
	type visit struct {
		folder File
		name   string
		above  []string
	}
	for todo := []visit{{folder: top}}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if slices.Contains(at.above, at.folder.Path) {
			return nil, nil, fault.New(fault.Invalid, "the links in %s lead in a circle", at.folder.Path)
		}
		aside := f.Aside()
		entries, err := aside.List(ctx, at.folder)
		if err != nil {
			return nil, nil, err
		}
		for what, id := range aside.seen {
			if strings.HasPrefix(what, "> ") || strings.HasPrefix(what, "? ") {
				f.seen[what] = id
			}
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			e, below := entries[name], path.Join(at.name, name)
			if e.Folder {
				todo = append(todo, visit{e, below, append(slices.Clip(at.above), at.folder.Path)})
				continue
			}
			if names, files = append(names, below), append(files, e); len(files) > MaxFiles {
				return nil, nil, fault.New(fault.TooLarge, "%s has more than %d files", top.Path, MaxFiles).Causing(fault.ResourceLimitsFailure)
			}
		}
	}
	return names, files, nil
}

// Aside is the same files for a reader whose reading doesn't count.
func (f *Files) Aside() *Files {
	aside := *f
	aside.seen = map[string]string{}
	return &aside
}

// Touch counts files and folders as read that were read aside.
func (f *Files) Touch(ctx context.Context, paths []string) error {
	for _, at := range paths {
		found, err := f.Find(ctx, at)
		switch {
		case fault.Is(err, fault.NotFound):
		case err != nil:
			return err
		case !found.Folder:
			f.seen["= "+found.Path] = found.id
		}
	}
	return nil
}

// listing says what is in a folder, but not what is in its files.
func listing(entries []gitfetch.Entry) string {
	h := sha256.New()
	for _, e := range entries {
		_, _ = fmt.Fprintf(h, "%d %q\n", e.Kind, e.Name) // a hash takes all
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Seen is what was read until now: by what it was, a name of what was there.
func (f *Files) Seen() map[string]string { return maps.Clone(f.seen) }

// Now says what stands in this revision where something was read in another, so
// that the two are the same for a reader if their answers are.
func (f *Files) Now(ctx context.Context, seen map[string]string) (map[string]string, error) {
	probe := f.Aside()
	out := map[string]string{}
	for what := range seen {
		how, at, _ := strings.Cut(what, " ")
		if how == "?" {
			if _, err := probe.find(ctx, at); err == nil {
				out[what] = "there"
			} else if fault.Is(err, fault.NotFound) {
				out[what] = ""
			} else {
				return nil, err
			}
			continue
		}
		e, err := f.plain(ctx, at)
		if err != nil {
			return nil, err
		}
		switch {
		case how == "=" && e.Kind == gitfetch.Regular, how == ">" && e.Kind == gitfetch.Link:
			out[what] = e.ID
		case how == "*" && e.Kind == gitfetch.Folder:
			out[what] = e.ID
		case how == "/" && e.Kind == gitfetch.Folder:
			entries, err := f.objects.List(ctx, e.ID)
			if err != nil {
				return nil, err
			}
			out[what] = listing(entries[e.ID])
		}
	}
	return out, nil
}

// plain is what is at a path without links; a file without an id if nothing is.
func (f *Files) plain(ctx context.Context, at string) (gitfetch.Entry, error) {
	here := gitfetch.Entry{Kind: gitfetch.Folder, ID: f.root}
	if at == "." {
		return here, nil
	}
	for name := range strings.SplitSeq(at, "/") {
		if here.Kind != gitfetch.Folder {
			return gitfetch.Entry{}, nil
		}
		e, err := f.entry(ctx, here.ID, name)
		if err != nil || e == nil {
			return gitfetch.Entry{}, err
		}
		here = *e
	}
	return here, nil
}
