package manifest

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// stored brings a file or a folder of the file store to the scratch folder,
// where files lie as they do in the store. Each scope has a root of its own.
func (s Source) stored(ctx context.Context, named string) (root, below string, err error) {
	if s.Files == nil || s.Dir == nil {
		return "", "", fault.New(fault.Unsupported, "files of the file store can't be read here")
	}
	files, err := s.Files(ctx, named)
	if err != nil {
		return "", "", fault.Wrap(err, "file store, %s", named)
	}
	scratch, err := s.Dir()
	if err != nil {
		return "", "", err
	}
	scope, at, found := strings.Cut(named, ":")
	if !found {
		scope, at = "project", named
	}
	root = filepath.Join(scratch, "filestore", scope)
	for _, f := range files {
		if err := write(root, f); err != nil {
			return "", "", fault.Wrap(err, "file store, %s", f.Path)
		}
	}
	s.say("Fetched %s from the file store, %d %s", named, len(files), plural(len(files), "file"))
	return root, strings.TrimPrefix(path.Clean(at), "/"), nil
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// write puts a file below the root, and nowhere else.
func write(root string, f task.StoredFile) error {
	name := filepath.FromSlash(strings.TrimPrefix(f.Path, "/"))
	if !filepath.IsLocal(name) {
		return fault.New(fault.Invalid, "the path leads out of the file store")
	}
	full := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	return os.WriteFile(full, f.Content, 0o600)
}

// storedManifests are the manifests of a file store, as those of a repository.
func (s Source) storedManifests(ctx context.Context, m *origin.Manifest) (Files, error) {
	out := Files{stored: true}
	for _, named := range m.Store.Files.Paths {
		root, below, err := s.stored(ctx, named)
		if err != nil {
			return Files{}, err
		}
		found, values, err := s.readPath(root, below)
		if err != nil {
			return Files{}, fault.Wrap(err, "file store, %s", named)
		}
		if scope, _, outer := strings.Cut(named, ":"); outer {
			for i := range found { // as valuesPaths name it, which are no manifests
				found[i].Place = scope + ":/" + found[i].Place
			}
		}
		if out.Root == "" {
			out.Root = root
		}
		out.Manifests, out.Defaults = append(out.Manifests, found...), append(out.Defaults, values...)
	}
	out.Manifests = append(out.Manifests, secretFiles(m.Store.Files)...)
	return out, out.some(m)
}

// secretFiles are files that came with the task, because they are secrets.
func secretFiles(from *task.FileStore) []File {
	var out []File
	for _, f := range from.Secrets {
		out = append(out, File{Name: f.ID + ".yaml", Text: f.Text})
	}
	return out
}

// storedValues are the files of a layer of values, or of patches.
func (s Source) storedValues(ctx context.Context, v origin.ValuesFile) ([]File, error) {
	var out []File
	for _, named := range v.Store.Files.Paths {
		files, err := s.storedLayer(ctx, named)
		if v.Optional && fault.Is(err, fault.NotFound) {
			s.say("%s is optional, and left out: %s", v.ID, err)
			continue
		}
		if err != nil {
			return nil, fault.Wrap(err, "values %s", v.ID)
		}
		out = append(out, files...)
	}
	return append(out, secretFiles(v.Store.Files)...), nil
}

// storedLayer reads a file of a layer, or those of a folder.
func (s Source) storedLayer(ctx context.Context, named string) ([]File, error) {
	root, below, err := s.stored(ctx, named)
	if err != nil {
		return nil, err
	}
	files, values, err := s.readPath(root, below)
	if err != nil {
		return nil, fault.Wrap(err, "file store, %s", named)
	}
	return append(values, files...), nil
}

// beside reads a file that a manifest names besides its own: from the file
// store if the manifest is there, else from its repository.
func (s Source) beside(ctx context.Context, m *origin.Manifest, files Files, named string) (string, error) {
	root, below := files.Root, strings.TrimPrefix(named, "/")
	if m.Store.Files != nil {
		var err error
		if root, below, err = s.stored(ctx, named); err != nil {
			return "", err
		}
	}
	full, err := Inside(root, below)
	if err != nil {
		return "", err
	}
	text, err := new(size).read(full, named)
	if err != nil && !fault.Is(err, fault.TooLarge) {
		return "", fault.New(fault.NotFound, "it can't be read as a file")
	}
	return text, err
}
