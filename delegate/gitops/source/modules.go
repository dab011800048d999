package source

import (
	"context"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
)

const (
	// modulePrefix begins the id of the topmost folder of a submodule that wasn't read yet:
	// its commit follows. Other ids are the objects'.
	modulePrefix = "commit:"
	// maxModules bounds how many submodules a commit may have, those of submodules among
	// them.
	maxModules = 100
	// maxModulesText bounds what says where submodules are, in bytes.
	maxModulesText = 1 << 20
)

// modules are the files of a commit with those of its submodules in their places. A
// submodule is fetched when somebody looks into it.
type modules struct {
	top  objects
	open func(ctx context.Context, url, commit string) (objects, string, error)

	mu     sync.Mutex
	where  map[string]string  // URLs of submodules, by the commits at their places
	roots  map[string]string  // of those that are open, by commit
	owners map[string]objects // who has an object; else top
}

// withModules gives the objects of a commit with its submodules; the same if it has
// none.
func withModules(ctx context.Context, at, root string, own objects, open func(ctx context.Context, url, commit string) (objects, string, error)) (objects, error) {
	m := &modules{top: own, open: open, where: map[string]string{}, roots: map[string]string{}, owners: map[string]objects{}}
	if err := m.read(ctx, at, root, own); err != nil || len(m.where) == 0 {
		return own, err
	}
	return m, nil
}

// read reads where the submodules of a commit are.
func (m *modules) read(ctx context.Context, at, root string, own objects) error {
	all, err := own.List(ctx, root)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all[root], func(e gitfetch.Entry) bool { return e.Name == ".gitmodules" && e.Kind == gitfetch.Regular })
	if i < 0 {
		return nil
	}
	id := all[root][i].ID
	text, err := own.Blobs(ctx, []string{id}, maxModulesText)
	if err != nil {
		return err
	}
	said := modulesOf(string(text[id]))
	for _, dir := range slices.Sorted(maps.Keys(said)) {
		commit, err := gitlink(ctx, own, root, dir)
		if err != nil {
			return err
		}
		if commit == "" {
			continue // there is none in this commit
		}
		to, err := moduleURL(at, said[dir])
		if err != nil {
			return fault.Wrap(err, "submodule %s", dir)
		}
		m.mu.Lock()
		if _, known := m.where[commit]; !known {
			m.where[commit] = to
		}
		many := len(m.where) > maxModules
		m.mu.Unlock()
		if many {
			return fault.New(fault.TooLarge, "%s has more than %d submodules", at, maxModules).Causing(fault.ResourceLimitsFailure)
		}
	}
	return nil
}

// gitlink is the commit at a place of a submodule; empty: none is there.
func gitlink(ctx context.Context, own objects, root, dir string) (string, error) {
	here := gitfetch.Entry{Kind: gitfetch.Folder, ID: root}
	for name := range strings.SplitSeq(dir, "/") {
		if here.Kind != gitfetch.Folder {
			return "", nil
		}
		all, err := own.List(ctx, here.ID)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(all[here.ID], func(e gitfetch.Entry) bool { return e.Name == name })
		if i < 0 {
			return "", nil
		}
		here = all[here.ID][i]
	}
	if here.Kind != gitfetch.Module {
		return "", nil
	}
	return here.ID, nil
}

// modulesOf reads .gitmodules: the URLs of submodules, by their paths.
func modulesOf(text string) map[string]string {
	out := map[string]string{}
	dir, at := "", ""
	flush := func() {
		if dir != "" && at != "" {
			out[path.Clean(dir)] = at
		}
		dir, at = "", ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			flush()
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "path":
			dir = value
		case "url":
			at = value
		}
	}
	flush()
	return out
}

// moduleURL is where a submodule's repository is: one that begins with a dot is by the
// repository's own.
func moduleURL(of, said string) (string, error) {
	if !strings.HasPrefix(said, "./") && !strings.HasPrefix(said, "../") {
		scheme, _, full := strings.Cut(said, "://")
		host, _, short := strings.Cut(said, ":")
		switch {
		case full && slices.Contains([]string{"https", "http", "ssh"}, scheme), !full && short && !strings.Contains(host, "/"):
			return said, nil
		}
		return "", fault.New(fault.Invalid, "found %q as its URL; want one of https, http or ssh", said)
	}
	base := strings.TrimRight(of, "/")
	for rest := said; ; {
		if more, ok := strings.CutPrefix(rest, "./"); ok {
			rest = more
			continue
		}
		more, ok := strings.CutPrefix(rest, "../")
		if !ok {
			return base + "/" + rest, nil
		}
		rest = more
		i := strings.LastIndexByte(base, '/')
		if i < 0 || strings.HasSuffix(base[:i+1], "://") {
			return "", fault.New(fault.Invalid, "its URL %q leads out of the host of %s", said, of)
		}
		base = base[:i]
	}
}

// List gives what is in folders, those of submodules among them.
func (m *modules) List(ctx context.Context, ids ...string) (map[string][]gitfetch.Entry, error) {
	out := map[string][]gitfetch.Entry{}
	by := map[objects][]string{}
	stands := map[string]string{} // the id that was asked for, by that of the folder
	for _, id := range ids {
		folder := id
		if commit, ok := strings.CutPrefix(id, modulePrefix); ok {
			root, err := m.enter(ctx, commit)
			if err != nil {
				return nil, err
			}
			folder = root
			stands[root] = id
		}
		owner := m.owner(folder)
		by[owner] = append(by[owner], folder)
	}
	for owner, folders := range by {
		found, err := owner.List(ctx, folders...)
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		for folder, entries := range found {
			all := slices.Clone(entries)
			for i := range all {
				switch _, known := m.where[all[i].ID]; {
				case all[i].Kind == gitfetch.Module && known:
					all[i].Kind, all[i].ID = gitfetch.Folder, modulePrefix+all[i].ID
				case all[i].Kind != gitfetch.Module && owner != m.top:
					m.owners[all[i].ID] = owner
				}
			}
			out[folder] = all
			if id, ok := stands[folder]; ok {
				out[id] = all
			}
		}
		m.mu.Unlock()
	}
	return out, nil
}

// Blobs gives the contents of files.
func (m *modules) Blobs(ctx context.Context, ids []string, most int) (map[string][]byte, error) {
	by := map[objects][]string{}
	for _, id := range ids {
		owner := m.owner(id)
		by[owner] = append(by[owner], id)
	}
	out := map[string][]byte{}
	for owner, some := range by {
		found, err := owner.Blobs(ctx, some, most)
		if err != nil {
			return nil, err
		}
		for id, text := range found {
			out[id] = text
			if most -= len(text); most < 0 {
				return nil, fault.New(fault.TooLarge, "the files are too large").Causing(fault.ResourceLimitsFailure)
			}
		}
	}
	return out, nil
}

func (m *modules) owner(id string) objects {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.owners[id]; ok {
		return o
	}
	return m.top
}

// enter fetches the commit of a submodule, and gives its topmost folder.
func (m *modules) enter(ctx context.Context, commit string) (string, error) {
	m.mu.Lock()
	at, known := m.where[commit]
	root, is := m.roots[commit]
	m.mu.Unlock()
	switch {
	case is:
		return root, nil
	case !known:
		return "", fault.New(fault.NotFound, "no submodule has the commit %s", commit)
	}
	own, root, err := m.open(ctx, at, commit)
	if err != nil {
		return "", fault.Wrap(err, "submodule %s", withoutUser(at))
	}
	if err := m.read(ctx, at, root, own); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roots[commit], m.owners[root] = root, own
	return root, nil
}

// withoutUser is a URL without who stands in it.
func withoutUser(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "at an address that can't be read"
	}
	at.User = nil
	return at.String()
}
