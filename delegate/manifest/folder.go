package manifest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// readPath is Source.readPath for YAML files.
func readPath(root, at string) (files, values []File, err error) { return Source{}.readPath(root, at) }

// readPath reads a file, or the YAML files below a folder, of which there must
// be some. A folder's own values.yaml holds defaults and is no manifest
// (semantics/kubernetes §3). Links count as what they lead to, which is in the
// root.
func (s Source) readPath(root, at string) (files, values []File, err error) {
	full, err := Inside(root, at)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return nil, nil, fault.New(fault.NotFound, "there is no such file or folder")
	}
	if !info.IsDir() {
		text, err := new(size).read(full, filepath.Base(at))
		return []File{{Name: filepath.Base(at), Place: filepath.ToSlash(filepath.Clean(at)), Text: text}}, nil, err
	}
	r := folderReader{root: root, json: s.JSON}
	if err := r.folder(full, "", nil); err != nil {
		return nil, nil, err
	}
	if len(r.files) == 0 {
		return nil, nil, fault.New(fault.NotFound, "the folder has no %s files", s.wanted())
	}
	for _, f := range r.files {
		f.Place = filepath.ToSlash(filepath.Join(at, f.Name))
		if f.Name == "values.yaml" {
			values = append(values, f)
		} else {
			files = append(files, f)
		}
	}
	return files, values, nil
}

// folderReader collects the YAML files of a folder.
type folderReader struct {
	root   string
	json   bool // files of JSON are read, too
	files  []File
	linked int // links that were followed
	size   size
}

// folder reads a folder that has a name below the first one. above are the
// folders that led to it, by their real paths.
func (r *folderReader) folder(at, name string, above []string) error {
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return err
	}
	if slices.Contains(above, real) {
		return fault.New(fault.Invalid, "its links lead in a circle, at %s", name)
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	above = append(slices.Clip(above), real)
	for _, e := range entries {
		one, below, kind := filepath.Join(real, e.Name()), path.Join(name, e.Name()), e.Type()
		if kind&fs.ModeSymlink != 0 {
			if kind, err = r.follow(one, below); err != nil {
				return err
			}
		}
		switch {
		case kind.IsDir():
			if err := r.folder(one, below, above); err != nil {
				return err
			}
		case kind.IsRegular() && r.reads(below):
			text, err := r.size.read(one, below)
			if err != nil {
				return err
			}
			r.files = append(r.files, File{Name: below, Text: text})
		}
	}
	return nil
}

// follow says what a link leads to, which must be in the root if it is to be
// read.
func (r *folderReader) follow(at, name string) (fs.FileMode, error) {
	info, err := os.Stat(at)
	switch {
	case err != nil && r.reads(name):
		return 0, fault.New(fault.Invalid, "%s is a link that leads nowhere", name)
	case err != nil || !info.IsDir() && !r.reads(name):
		return fs.ModeIrregular, nil // nobody reads it
	}
	if r.linked++; r.linked > maxLinked {
		return 0, fault.New(fault.Invalid, "its links lead to more than %d files and folders", maxLinked)
	}
	base, err := filepath.EvalSymlinks(r.root)
	if err != nil {
		return 0, err
	}
	below, err := filepath.Rel(base, at)
	if err != nil {
		return 0, err
	}
	if _, err := Inside(base, below); err != nil {
		return 0, err
	}
	return info.Mode().Type(), nil
}

// wanted are the files that are read of a folder.
func (s Source) wanted() string {
	if s.JSON {
		return "YAML or JSON"
	}
	return "YAML"
}

func (r *folderReader) reads(name string) bool {
	return isYAML(name) || r.json && strings.EqualFold(path.Ext(name), ".json")
}

func isYAML(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}
