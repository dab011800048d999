package gitfetch

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/diskcache"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

const (
	// maxTrees bounds how many entries of folders are remembered.
	maxTrees = 200_000
	// maxTreeBytes bounds the folders that are read at once.
	maxTreeBytes = 64 << 20
	// enoughFetches is how often contents of one commit are fetched by their ids;
	// after that all of them come at once.
	enoughFetches = 16
	// allBelow is up to which size files are among those.
	allBelow = "1m"
)

// Tree is the files of a commit. They are read from its objects, without being
// checked out; contents are fetched when they are first read, many at once.
//
// Objects are named by what is in them: what has the same id is the same.
type Tree struct {
	Commit string
	Root   string // id of the topmost folder

	f *Fetcher
	g task.Git
}

// Kind is what an entry of a folder is.
type Kind int

// The kinds of entries. A Module is another repository, at the commit that is its id.
const (
	Regular Kind = iota
	Link
	Folder
	Module
)

// Entry is something in a folder.
type Entry struct {
	Name string
	Kind Kind
	ID   string
}

// Tree brings the folders of commit g.Commit here, unless they are.
func (f *Fetcher) Tree(ctx context.Context, g task.Git) (*Tree, error) {
	if !commitID.MatchString(g.Commit) {
		return nil, fault.New(fault.Invalid, "found %q for a commit of %s; want 40 hexadecimal digits", g.Commit, g.URL)
	}
	t := &Tree{Commit: g.Commit, f: f, g: g}
	return t, following(ctx, g, func(g task.Git) error {
		t.g = g
		return t.use(ctx, func(reading, fetching repository) error {
			if err := f.reach(ctx, fetching, g); err != nil {
				return err
			}
			f.mu.Lock()
			t.Root = f.roots[g.Commit]
			f.mu.Unlock()
			if t.Root != "" {
				return nil
			}
			release, err := alone(ctx, fetching.dir)
			if err != nil {
				return err
			}
			defer release()
			if err := fetching.download(ctx, g, g.Commit); err != nil {
				return err
			}
			id, err := reading.git(ctx, "rev-parse", "--verify", g.Commit+"^{tree}")
			if err != nil {
				return err
			}
			t.Root = strings.TrimSpace(id)
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.roots) >= maxResolved {
				clear(f.roots)
			}
			f.roots[g.Commit] = t.Root
			return nil
		})
	})
}

// use does something with the repository, as the only one of this process.
// reading doesn't fetch what is missing: one at a time, it would take for ever.
func (t *Tree) use(ctx context.Context, do func(reading, fetching repository) error) error {
	fetching, done, err := t.f.access(t.g, sparsely(t.g)...)
	if err != nil {
		return err
	}
	defer done()
	t.f.prune(time.Now())
	t.f.using.RLock()
	defer t.f.using.RUnlock()
	unlock, err := t.f.lock(ctx, fetching.dir)
	if err != nil {
		return err
	}
	defer unlock()
	diskcache.Use(fetching.objects())
	reading, forget, err := t.f.access(task.Git{URL: t.g.URL})
	if err != nil {
		return err
	}
	defer forget()
	return do(reading.in(reading.objects()), fetching)
}

// List gives what is in folders, by their ids.
func (t *Tree) List(ctx context.Context, ids ...string) (map[string][]Entry, error) {
	out := map[string][]Entry{}
	var unknown []string
	t.f.mu.Lock()
	for _, id := range ids {
		if known, ok := t.f.trees[id]; ok {
			out[id] = known
		} else {
			unknown = append(unknown, id)
		}
	}
	t.f.mu.Unlock()
	if len(unknown) == 0 {
		return out, nil
	}
	found, err := t.objects(ctx, unknown, maxTreeBytes)
	if err != nil {
		return nil, err
	}
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	for id, text := range found {
		entries, err := entriesOf(text)
		if err != nil {
			return nil, fmt.Errorf("folder %s of %s: %w", id, t.g.URL, err)
		}
		if t.f.treeEntries += len(entries); t.f.treeEntries > maxTrees {
			clear(t.f.trees)
			t.f.treeEntries = len(entries)
		}
		out[id], t.f.trees[id] = entries, entries
	}
	return out, nil
}

// entriesOf reads a folder as Git keeps it: mode, name and id of each entry.
func entriesOf(text []byte) ([]Entry, error) {
	var out []Entry
	for len(text) > 0 {
		head, rest, ok := bytes.Cut(text, []byte{0})
		mode, name, isEntry := strings.Cut(string(head), " ")
		const size = 20 // of an id
		if !ok || !isEntry || len(rest) < size {
			return nil, errors.New("it can't be read")
		}
		e := Entry{Name: name, ID: hex.EncodeToString(rest[:size])}
		switch mode {
		case "40000":
			e.Kind = Folder
		case "120000":
			e.Kind = Link
		case "160000":
			e.Kind = Module
		}
		out, text = append(out, e), rest[size:]
	}
	return out, nil
}

// Blobs gives the contents of files, by their ids; fault.TooLarge if they have more
// than most bytes together.
func (t *Tree) Blobs(ctx context.Context, ids []string, most int) (map[string][]byte, error) {
	return t.objects(ctx, ids, most)
}

// objects reads objects, and fetches those that aren't here.
func (t *Tree) objects(ctx context.Context, ids []string, most int) (out map[string][]byte, err error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return map[string][]byte{}, nil
	}
	err = t.use(ctx, func(reading, fetching repository) error {
		var missing []string
		out, missing, err = reading.objectsOf(ctx, ids, most)
		if err == nil && len(missing) == 0 {
			return nil
		}
		if fault.Is(err, fault.TooLarge) {
			return err
		}
		if err := t.bring(ctx, fetching, missing); err != nil {
			return err
		}
		out, missing, err = reading.objectsOf(ctx, ids, most)
		if err == nil && len(missing) > 0 {
			err = fault.New(fault.Unavailable, "%s doesn't give the object %s of commit %s", t.g.URL, missing[0], t.Commit)
		}
		return err
	})
	return out, err
}

// bring fetches objects that are missing, or all of the commit when that was
// done often.
func (t *Tree) bring(ctx context.Context, r repository, missing []string) error {
	release, err := alone(ctx, r.dir)
	if err != nil {
		return err
	}
	defer release()
	if err := r.download(ctx, t.g, t.Commit); err != nil { // another process may have begun anew
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	t.f.mu.Lock()
	if len(t.f.brought) >= maxResolved {
		clear(t.f.brought)
	}
	t.f.brought[t.Commit]++
	often := t.f.brought[t.Commit] == enoughFetches
	t.f.mu.Unlock()
	if often {
		_, err := r.in(r.objects()).git(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--refetch", "--filter=blob:limit="+allBelow, "--", "origin", t.Commit)
		return err
	}
	// A host that is told which commits are here takes their contents to be here, too.
	exactly, done, err := t.f.access(t.g, append(sparsely(t.g), [2]string{"fetch.negotiationAlgorithm", "noop"})...)
	if err != nil {
		return err
	}
	defer done()
	_, err = exactly.in(exactly.objects()).run(ctx, strings.NewReader(strings.Join(missing, "\n")+"\n"), maxTreeBytes,
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin", "origin")
	return err
}

// objectsOf reads objects, and names those that aren't here.
func (r repository) objectsOf(ctx context.Context, ids []string, most int) (found map[string][]byte, missing []string, err error) {
	const header = 64 // id, type and size
	text, err := r.run(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), most+header*len(ids), "cat-file", "--batch")
	if err != nil {
		return nil, nil, err
	}
	found = map[string][]byte{}
	for total := 0; len(text) > 0; {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		fields := strings.Fields(string(line))
		if len(fields) == 2 && fields[1] == "missing" {
			missing, text = append(missing, fields[0]), rest
			continue
		}
		size := -1
		if len(fields) == 3 {
			if size, err = strconv.Atoi(fields[2]); err != nil {
				return nil, nil, fmt.Errorf("git cat-file of %s: %w", r.url, err)
			}
		}
		if size < 0 || size >= len(rest) {
			return nil, nil, fmt.Errorf("git cat-file of %s ends too early", r.url)
		}
		if total += size; total > most {
			return nil, nil, r.tooLong("cat-file", most)
		}
		found[fields[0]], text = rest[:size:size], rest[size+1:]
	}
	return found, missing, nil
}

// Resolve gives the commit that begins with some digits, of those that are here.
func (t *Tree) Resolve(ctx context.Context, digits string) (string, error) {
	var id string
	err := t.use(ctx, func(reading, _ repository) error {
		out, err := reading.git(ctx, "rev-parse", "--quiet", "--verify", digits+"^{commit}")
		id = strings.TrimSpace(out)
		return err
	})
	return id, err
}
