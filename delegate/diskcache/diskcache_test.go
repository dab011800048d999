package diskcache_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/diskcache"
)

func TestWhatNobodyUsesGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := time.Now().Add(-diskcache.Unused - time.Hour)
	for _, name := range []string{"used again", "unused", "young"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(at, "files"), 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "young" {
			continue
		}
		if err := os.Chtimes(at, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if !diskcache.Use(filepath.Join(dir, "used again")) || diskcache.Use(filepath.Join(dir, "never there")) {
		t.Error("Use doesn't say which folders are there")
	}
	diskcache.Prune(dir, time.Now())
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"used again", "young"}, left); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}
