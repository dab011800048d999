// Package manifest brings what a service is made of to a delegate: the files of
// its manifests and the layers of values above them (semantics/kubernetes §3,
// semantics/entities §8).
//
// It doesn't render: Go templates are delegate/gotemplate's, charts are
// delegate/helm/chart's. How a Git commit gets here is delegate/gitfetch's.
package manifest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// File is a fetched file: its name below the manifest's path, its place in
// the repository (empty if it is in none), and its text.
type File struct {
	Name  string
	Place string
	Text  string
	// Resolved says that the text came with the task, its expressions resolved.
	// What looks like one is what an event or an output had in it.
	Resolved bool
}

// Source reads the manifests and values of one task.
type Source struct {
	Git *gitfetch.Fetcher
	// Places are all files that the task needs, as far as they are known, to be
	// fetched together. What isn't among them is fetched when it is read.
	Places []task.Git
	// Stage is an execution's stage, for which a branch is resolved once.
	Stage string
	// Revision is the release's number, for <+kubernetes.release.revision>.
	Revision int
	// JSON says that files of JSON in folders count as well as those of YAML.
	JSON bool
	// Extract runs scripts that bring files; nil where there are none.
	Extract *Extractor
	// Resolve has the control plane resolve the expressions of texts by name.
	Resolve func(ctx context.Context, texts map[string]string) (map[string]string, error)
	// Files gives a file of the file store, or all of a folder; Dir is where
	// they are put. Without either there is no file store.
	Files func(ctx context.Context, path string) ([]task.StoredFile, error)
	Dir   func() (string, error)
	Log   io.Writer
}

// Files is what Fetch brings.
type Files struct {
	Manifests []File
	Defaults  []File // the values.yaml of folders of manifests
	Root      string // of the repository, for paths in it; empty for inline manifests
	Folder    string // of a chart or a kustomization, below Root or the same; empty for others
	Commit    string // of the repository, of what has a folder
	stored    bool   // in the file store: Root has only what was asked for
}

// Fetch reads the manifest files of a store, and the values files beside them.
func (s Source) Fetch(ctx context.Context, m *origin.Manifest) (Files, error) {
	if m == nil {
		return Files{}, fault.New(fault.Invalid, "the service has no manifests")
	}
	if m.Type == origin.HelmChart || m.Type == origin.Kustomization {
		return s.folder(ctx, m)
	}
	if m.Type != origin.PlainManifest && m.Type != origin.OpenshiftTemplate {
		return Files{}, fault.New(fault.Unsupported, "manifest %s is a %s, which can't be deployed yet", m.ID, m.Type)
	}
	if m.Store.Files != nil {
		return s.storedManifests(ctx, m)
	}
	if m.Store.Git == nil && m.Store.Script == nil {
		return Files{Manifests: []File{{Name: m.ID + ".yaml", Text: m.Store.Inline}}}, nil
	}
	from, err := s.tree(ctx, m)
	if err != nil {
		return Files{}, err
	}
	out := Files{Root: from.root}
	for _, p := range from.paths {
		found, values, err := s.readPath(from.root, p)
		if err != nil {
			return Files{}, fault.Wrap(err, "%s, path %s", from.name, p)
		}
		out.Manifests, out.Defaults = append(out.Manifests, found...), append(out.Defaults, values...)
	}
	return out, out.some(m)
}

// some refuses a manifest without files: deployed, it would remove all that
// was deployed before.
func (f Files) some(m *origin.Manifest) error {
	if len(f.Manifests) == 0 {
		return fault.New(fault.NotFound, "manifest %s has no files besides values.yaml", m.ID)
	}
	return nil
}

// folder fetches a manifest that is one folder.
func (s Source) folder(ctx context.Context, m *origin.Manifest) (Files, error) {
	from, err := s.tree(ctx, m)
	if err != nil {
		return Files{}, err
	}
	if len(from.paths) != 1 {
		return Files{}, fault.New(fault.Invalid, "manifest %s has %d folders; want one", m.ID, len(from.paths))
	}
	at := from.paths[0]
	folder, err := Inside(from.root, at)
	if err != nil {
		return Files{}, fault.Wrap(err, "%s, folder %s", from.name, at)
	}
	return Files{Root: from.root, Folder: folder, Commit: from.commit, stored: m.Store.Files != nil}, nil
}

// tree is a folder that was filled with files, and those that count.
type tree struct {
	name   string // for people
	root   string
	paths  []string
	commit string // of a Git repository
}

// tree fetches the files of a manifest that aren't in the document itself.
func (s Source) tree(ctx context.Context, m *origin.Manifest) (tree, error) {
	switch {
	case m.Store.Git != nil:
		got, err := s.checkout(ctx, place(m))
		return tree{name: m.Store.Git.URL, root: got.Dir, paths: m.Store.Git.Paths, commit: got.Commit}, err
	case m.Store.Files != nil && len(m.Store.Files.Paths) == 1:
		root, below, err := s.stored(ctx, m.Store.Files.Paths[0])
		return tree{name: "the file store", root: root, paths: []string{below}}, err
	case m.Store.Script != nil:
		root, err := s.Extract.Folder(ctx, *m.Store.Script)
		return tree{name: "what the script of manifest " + m.ID + " made", root: root, paths: []string{m.Store.Script.Path}}, err
	}
	return tree{}, fault.New(fault.Invalid, "manifest %s needs a folder of files", m.ID)
}

// checkout brings a commit here and says which.
func (s Source) checkout(ctx context.Context, g task.Git) (gitfetch.Files, error) {
	got, err := s.Git.Fetch(ctx, s.together(g), s.Stage)
	if err == nil {
		s.say("Fetched %s at commit %s", g.URL, got.Commit)
	}
	return got, err
}

// say writes a line to the log. A log that can't be written is the agent's to
// report; the work goes on.
func (s Source) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Log, format+"\n", args...) // see above
}

// Inside joins a path to a root and keeps it there, also where it is a link.
func Inside(root, path string) (string, error) {
	full := filepath.Join(root, filepath.FromSlash(path))
	if rel, err := filepath.Rel(root, full); err != nil || strings.HasPrefix(rel, "..") {
		return "", fault.New(fault.Invalid, "path %q leads out of the repository", path)
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", fault.New(fault.NotFound, "there is no such file or folder")
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(base, real); err != nil || strings.HasPrefix(rel, "..") {
		return "", fault.New(fault.Invalid, "path %q is a link that leads out of the repository", path)
	}
	return full, nil
}

// maxLinked is how many files and folders the links in a folder may lead to.
const maxLinked = 10_000

// LinksStay says whether the links in a folder, and in those that they lead to,
// stay in a root, and don't lead in circles. It is for what follows links by
// itself.
func LinksStay(root, folder string) error {
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	linked := 0
	for todo := []string{folder}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			continue // one that leads nowhere is its reader's to report
		}
		if rel, err := filepath.Rel(base, real); err != nil || !filepath.IsLocal(rel) {
			return fault.New(fault.Invalid, "%s is a link that leads out of the repository", filepath.Base(at))
		}
		err = filepath.WalkDir(real, func(file string, d fs.DirEntry, err error) error {
			if at != folder {
				linked++
			}
			switch {
			case linked > maxLinked:
				return fault.New(fault.Invalid, "its links lead in a circle, or to more than %d files", maxLinked)
			case err == nil && d.Type()&fs.ModeSymlink != 0:
				todo = append(todo, file)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
