package session

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxFiles bounds what one call puts into the workspace, in bytes.
const maxFiles = 2 << 30

// putFiles unpacks a tar in a folder of the workspace. What it holds is looked at
// before anything is there.
func (h *Host) putFiles(req *http.Request) (int, any, error) {
	into := req.URL.Query().Get("path")
	if into != "" && !filepath.IsLocal(into) {
		return 0, nil, no{http.StatusBadRequest, "the folder " + into + " isn't in the workspace"}
	}
	incoming, err := os.MkdirTemp(h.Control, "incoming-")
	if err != nil {
		return 0, nil, fmt.Errorf("make a folder for files: %w", err)
	}
	defer os.RemoveAll(incoming)
	if err := unpack(req.Body, incoming); err != nil {
		return 0, nil, no{http.StatusBadRequest, err.Error()}
	}
	root, err := os.OpenRoot(h.Workspace)
	if err != nil {
		return 0, nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	return http.StatusOK, struct{}{}, merge(root, incoming, into)
}

// unpack reads a tar into an empty folder.
func unpack(from io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer root.Close()
	left := int64(maxFiles)
	for r := tar.NewReader(from); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the files: %w", err)
		}
		name := path.Clean(e.Name)
		if !filepath.IsLocal(e.Name) {
			return fmt.Errorf("the file %s would be outside the workspace", e.Name)
		}
		mode := e.FileInfo().Mode()
		if mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			return fmt.Errorf("the file %s would run as somebody else", e.Name)
		}
		switch e.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			if left -= e.Size; left < 0 {
				return fmt.Errorf("the files have more than %d bytes together", int64(maxFiles))
			}
			err = writeFile(root, name, r, mode.Perm()|0o600)
		case tar.TypeSymlink:
			if path.IsAbs(e.Linkname) || //nolint:gosec // that is what is looked at here
				!filepath.IsLocal(path.Join(path.Dir(name), e.Linkname)) {
				return fmt.Errorf("the link %s leads out of the workspace", e.Name)
			}
			if err = root.MkdirAll(path.Dir(name), 0o755); err == nil {
				err = root.Symlink(e.Linkname, name)
			}
		default:
			return fmt.Errorf("%s is neither a file nor a folder nor a link", e.Name)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", e.Name, err)
		}
	}
}

func writeFile(root *os.Root, name string, from io.Reader, perm fs.FileMode) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make its folder: %w", err)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return fmt.Errorf("make it: %w", err)
	}
	_, err = io.Copy(f, from)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write it: %w", err)
	}
	return nil
}

// merge moves what was unpacked into a folder of the workspace. Files that are
// there are replaced.
func merge(root *os.Root, from, into string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("open %s: %w", from, err)
	}
	defer src.Close()
	if into != "" {
		if err := root.MkdirAll(into, 0o755); err != nil {
			return fmt.Errorf("make the folder %s: %w", into, err)
		}
	}
	err = fs.WalkDir(src.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		return place(root, src, name, path.Join(into, name), d)
	})
	if err != nil {
		return fmt.Errorf("put files into the workspace: %w", err)
	}
	return nil
}

func place(root, src *os.Root, name, to string, d fs.DirEntry) error {
	if d.IsDir() {
		return root.MkdirAll(to, 0o755)
	}
	if err := root.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := src.Readlink(name)
		if err != nil {
			return err
		}
		return root.Symlink(target, to)
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	f, err := src.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return writeFile(root, to, f, info.Mode().Perm())
}

// getFiles gives a file or a folder of the workspace as a tar.
func (h *Host) getFiles(w http.ResponseWriter, req *http.Request) {
	from := req.URL.Query().Get("path")
	root, err := os.OpenRoot(h.Workspace)
	if err != nil {
		answer(w, http.StatusInternalServerError, refusal{err.Error()})
		return
	}
	defer root.Close()
	info, err := root.Stat(from)
	if err != nil {
		answer(w, http.StatusNotFound, refusal{"the workspace has no " + from})
		return
	}
	w.Header().Set("Content-Type", "application/x-tar")
	out := tar.NewWriter(w)
	defer out.Close() // a tar that was cut short has no end
	if !info.IsDir() {
		_ = pack(out, root, from, path.Base(from), info) // likewise
		return
	}
	_ = fs.WalkDir(root.FS(), from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == from || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return pack(out, root, name, strings.TrimPrefix(strings.TrimPrefix(name, from), "/"), info)
	})
}

func pack(out *tar.Writer, root *os.Root, name, as string, info fs.FileInfo) error {
	head, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	head.Name = as
	if err := out.WriteHeader(head); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	defer f.Close()
	if _, err := io.Copy(out, f); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return nil
}
