package kustomize

import (
	"fmt"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// confined is the disk as far as it is in some folders: a kustomization may
// name bases by paths that lead anywhere, and by a flag files, too.
type confined struct {
	filesys.FileSystem
	roots []string // by their real paths
}

// confine gives the disk in folders, which must be there.
func confine(roots ...string) (confined, error) {
	out := confined{FileSystem: filesys.MakeFsOnDisk()}
	for _, r := range roots {
		real, err := filepath.EvalSymlinks(r)
		if err != nil {
			return confined{}, fmt.Errorf("find the files of a kustomization: %w", err)
		}
		out.roots = append(out.roots, r, real)
	}
	return out, nil
}

// check refuses a path that leads out, also through links. One that isn't there
// is its reader's to report.
func (c confined) check(path string) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for _, root := range c.roots {
		below, err := filepath.Rel(root, full)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		if _, err := manifest.Inside(root, below); !fault.Is(err, fault.Invalid) {
			return nil
		}
	}
	return fault.New(fault.Invalid, "security: the path %q leads out of the repository", path)
}

// Open opens a file.
func (c confined) Open(path string) (filesys.File, error) {
	if err := c.check(path); err != nil {
		return nil, err
	}
	return c.FileSystem.Open(path)
}

// ReadFile reads a file.
func (c confined) ReadFile(path string) ([]byte, error) {
	if err := c.check(path); err != nil {
		return nil, err
	}
	return c.FileSystem.ReadFile(path)
}

// ReadDir lists a folder.
func (c confined) ReadDir(path string) ([]string, error) {
	if err := c.check(path); err != nil {
		return nil, err
	}
	return c.FileSystem.ReadDir(path)
}

// CleanedAbs finds a folder.
func (c confined) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	if err := c.check(path); err != nil {
		return "", "", err
	}
	return c.FileSystem.CleanedAbs(path)
}

// Exists says whether there is something at a path.
func (c confined) Exists(path string) bool { return c.check(path) == nil && c.FileSystem.Exists(path) }

// IsDir says whether there is a folder at a path.
func (c confined) IsDir(path string) bool { return c.check(path) == nil && c.FileSystem.IsDir(path) }

// Glob finds files.
func (c confined) Glob(pattern string) ([]string, error) {
	found, err := c.FileSystem.Glob(pattern)
	inside := found[:0]
	for _, f := range found {
		if c.check(f) == nil {
			inside = append(inside, f)
		}
	}
	return inside, err
}

// Walk goes through a folder.
func (c confined) Walk(path string, f filepath.WalkFunc) error {
	if err := c.check(path); err != nil {
		return err
	}
	return c.FileSystem.Walk(path, f)
}
