// Package manifest brings what a service is made of to a delegate: the files of
// its manifests and the layers of values above them (kubernetes spec §3,
// entities spec §8).
//
// It doesn't render: Go templates are delegate/kubernetes's, charts are
// delegate/chart's. How a Git commit gets here is delegate/gitfetch's.
package manifest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// File is a fetched file: its name below the manifest's path, its place in
// the repository (empty if it is in none), and its text.
type File struct {
	Name  string
	Place string
	Text  string
}

// Source reads the manifests and values of one task.
type Source struct {
	Git *gitfetch.Fetcher
	// Stage is an execution's stage, for which a branch is resolved once.
	Stage string
	// Revision is the release's number, for <+kubernetes.release.revision>.
	Revision int
	// Resolve has the control plane resolve the expressions of texts by name.
	Resolve func(ctx context.Context, texts map[string]string) (map[string]string, error)
	Log     io.Writer
}

// Files is what Fetch brings.
type Files struct {
	Manifests []File
	Defaults  []File // the values.yaml of folders of manifests
	Root      string // of the repository, for paths in it; empty for inline manifests
	Folder    string // of a chart or a kustomization, below Root or the same; empty for others
}

// Fetch reads the manifest files of a store, and the values files beside them.
func (s Source) Fetch(ctx context.Context, m *task.Manifest) (Files, error) {
	if m == nil {
		return Files{}, fault.New(fault.Invalid, "the service has no manifests")
	}
	if m.Type == "HelmChart" || m.Type == "Kustomize" {
		return s.folder(ctx, m)
	}
	if m.Type != "K8sManifest" {
		return Files{}, fault.New(fault.Unsupported, "manifest %s is a %s, which can't be deployed yet", m.ID, m.Type)
	}
	if m.Store.Git == nil {
		return Files{Manifests: []File{{Name: m.ID + ".yaml", Text: m.Store.Inline}}}, nil
	}
	root, err := s.checkout(ctx, *m.Store.Git)
	if err != nil {
		return Files{}, err
	}
	out := Files{Root: root}
	for _, p := range m.Store.Git.Paths {
		found, values, err := readPath(root, p)
		if err != nil {
			return Files{}, fault.New(fault.CodeOf(err), "%s, path %s: %w", m.Store.Git.URL, p, err)
		}
		out.Manifests, out.Defaults = append(out.Manifests, found...), append(out.Defaults, values...)
	}
	return out, nil
}

// folder fetches a manifest that is one folder of a repository.
func (s Source) folder(ctx context.Context, m *task.Manifest) (Files, error) {
	if m.Store.Git == nil || len(m.Store.Git.Paths) != 1 {
		return Files{}, fault.New(fault.Invalid, "manifest %s needs one folder of a Git repository", m.ID)
	}
	root, err := s.checkout(ctx, *m.Store.Git)
	if err != nil {
		return Files{}, err
	}
	at := m.Store.Git.Paths[0]
	folder, err := Inside(root, at)
	if err != nil {
		return Files{}, fault.New(fault.CodeOf(err), "%s, folder %s: %w", m.Store.Git.URL, at, err)
	}
	return Files{Root: root, Folder: folder}, nil
}

// checkout brings a commit here and says which.
func (s Source) checkout(ctx context.Context, g task.Git) (root string, err error) {
	got, err := s.Git.Fetch(ctx, g, s.Stage)
	if err != nil {
		return "", err
	}
	s.say("Fetched %s at commit %s", g.URL, got.Commit)
	return got.Dir, nil
}

// say writes a line to the log. A log that can't be written is the agent's to
// report; the work goes on.
func (s Source) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Log, format+"\n", args...) // see above
}

// readPath reads a file, or the YAML files below a folder. A folder's own
// values.yaml holds defaults and is no manifest (kubernetes spec §3).
func readPath(root, path string) (files, values []File, err error) {
	full, err := Inside(root, path)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return nil, nil, fault.New(fault.NotFound, "there is no such file or folder")
	}
	if !info.IsDir() {
		text, err := os.ReadFile(full)
		return []File{{Name: filepath.Base(path), Place: filepath.ToSlash(filepath.Clean(path)), Text: string(text)}}, nil, err
	}
	err = filepath.WalkDir(full, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isYAML(file) {
			return err
		}
		text, err := os.ReadFile(file) //nolint:gosec // nothing else writes into the fetched commit
		if err != nil {
			return err
		}
		name, err := filepath.Rel(full, file)
		if err != nil {
			return err
		}
		one := File{Name: filepath.ToSlash(name), Place: filepath.ToSlash(filepath.Join(path, name)), Text: string(text)}
		if one.Name == "values.yaml" {
			values = append(values, one)
		} else {
			files = append(files, one)
		}
		return nil
	})
	return files, values, err
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

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}
