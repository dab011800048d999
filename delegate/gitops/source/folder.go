package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// folder is an archive that was unpacked, and never changes: what names the archive
// and a path in it name what is there.
type folder struct {
	dir   string
	stamp string
}

func (d folder) path(id string) string { return strings.TrimPrefix(id, d.stamp+":") }

func (d folder) id(at string) string { return d.stamp + ":" + at }

// open opens the folder, which none of the links in it lead out of.
func (d folder) open() (*os.Root, error) {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d.stamp, err)
	}
	return root, nil
}

// List gives what is in folders.
func (d folder) List(_ context.Context, ids ...string) (map[string][]gitfetch.Entry, error) {
	root, err := d.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	out := map[string][]gitfetch.Entry{}
	for _, id := range ids {
		at := d.path(id)
		entries, err := fs.ReadDir(root.FS(), at)
		if err != nil {
			return nil, fmt.Errorf("read folder %s of %s: %w", at, d.stamp, err)
		}
		for _, e := range entries {
			one := gitfetch.Entry{Name: e.Name(), ID: d.id(path.Join(at, e.Name()))}
			switch {
			case e.IsDir():
				one.Kind = gitfetch.Folder
			case e.Type()&fs.ModeSymlink != 0:
				one.Kind = gitfetch.Link
			}
			out[id] = append(out[id], one)
		}
	}
	return out, nil
}

// Blobs gives the contents of files, and where links lead to.
func (d folder) Blobs(_ context.Context, ids []string, most int) (map[string][]byte, error) {
	root, err := d.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	out := map[string][]byte{}
	for _, id := range ids {
		text, err := read(root, d.path(id), most)
		if err != nil {
			return nil, fmt.Errorf("read file %s of %s: %w", d.path(id), d.stamp, err)
		}
		if most -= len(text); most < 0 {
			return nil, fault.New(fault.TooLarge, "the files of %s are too large", d.stamp).Causing(fault.ResourceLimitsFailure)
		}
		out[id] = text
	}
	return out, nil
}

// read reads a file, one byte more than most at most, or where a link leads to.
func read(root *os.Root, at string, most int) ([]byte, error) {
	info, err := root.Lstat(at)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := root.Readlink(at)
		return []byte(to), err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	f, err := root.Open(at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, int64(most)+1))
}
