package render

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// skipComment is what a file of a folder has in a line of its own if it is no
// manifest.
const skipComment = "# +argocd:skip-file-rendering"

// directory reads the manifests of a folder.
func (j *job) directory(ctx context.Context, p *part) ([]*unstructured.Unstructured, error) {
	d := p.Directory
	if d == nil {
		d = &gitops.Directory{}
	}
	w := &walk{files: p.files, recurse: d.Recurse, found: map[string]source.File{}}
	var err error
	if w.chosen, err = chooser(d); err != nil {
		return nil, err
	}
	if err := w.folder(ctx, p.folder, "", nil); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(w.found))
	all := make([]source.File, len(names))
	for i, name := range names {
		all[i] = w.found[name]
	}
	texts, err := p.files.Read(ctx, maxManifests, all...)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for i, name := range names {
		text := string(texts[i])
		var objects []*unstructured.Unstructured
		switch {
		case strings.Contains(text, skipComment):
		case path.Ext(name) == ".jsonnet":
			objects, err = j.jsonnet(ctx, p, d.Jsonnet, all[i])
		default:
			objects, err = manifest.Objects(name, text, manifest.DecodeStrict)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// chooser says which files of a folder are manifests, by their names below it. In
// both globs a star goes over slashes.
func chooser(d *gitops.Directory) (func(name string) bool, error) {
	include, err := pattern("include", d.Include)
	if err != nil {
		return nil, err
	}
	exclude, err := pattern("exclude", d.Exclude)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		switch {
		case exclude != nil && exclude.Match(name), include != nil && !include.Match(name):
			return false
		case d.DisableExtensionFilter:
			return true
		}
		return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonnet"}, path.Ext(name))
	}, nil
}

// pattern is a glob; nil if there is none.
func pattern(field, text string) (*glob.Pattern, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no pattern is an answer
	}
	g, err := glob.Compile(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "directory.%s %q is no pattern: %w", field, text, err)
	}
	return g, nil
}

// walk collects the files of a folder.
type walk struct {
	files   *source.Files
	recurse bool
	chosen  func(name string) bool
	found   map[string]source.File // by their names below the folder
}

// folder goes through a folder that has a name below the first one. above are those
// that led to it.
func (w *walk) folder(ctx context.Context, at source.File, name string, above []string) error {
	if slices.Contains(above, at.Path) {
		return fault.New(fault.Invalid, "the links in %s lead in a circle", at.Path)
	}
	above = append(slices.Clip(above), at.Path)
	entries, err := w.files.List(ctx, at)
	if err != nil {
		return err
	}
	for _, n := range slices.Sorted(maps.Keys(entries)) {
		e, below := entries[n], path.Join(name, n)
		switch {
		case e.Folder && w.recurse:
			if err := w.folder(ctx, e, below, above); err != nil {
				return err
			}
		case !e.Folder && w.chosen(below):
			if len(w.found) >= source.MaxFiles {
				return fault.New(fault.TooLarge, "the folder has more than %d files", source.MaxFiles).Causing(fault.ResourceLimitsFailure)
			}
			w.found[below] = e
		}
	}
	return nil
}
