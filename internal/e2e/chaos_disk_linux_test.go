package e2e_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk is a file system of 64 MiB in memory, which can be filled and freed
// again. Who may not mount one gets a folder of everybody's disk, and no way
// to fill it.
func smallDisk(t *testing.T) (dir string, full func() (func(), error)) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("slipway", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Logf("the disk won't be filled: mount: %v", err)
		return dir, nil
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	filler := filepath.Join(dir, "filler")
	return dir, func() (func(), error) {
		f, err := os.Create(filler)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
			return nil, err
		}
		return func() { _ = os.Remove(filler) }, nil // the next fault writes it anew
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
