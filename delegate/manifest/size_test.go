package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// sized makes a file of so many zero bytes, which take no room on the disk.
func sized(t *testing.T, root, name string, bytes int64) {
	t.Helper()
	put(t, root, map[string]string{name: ""})
	if err := os.Truncate(filepath.Join(root, name), bytes); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAManifestBringsIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fill func(t *testing.T, root string, more int)
		want string
	}{
		"a file": {func(t *testing.T, root string, more int) {
			t.Helper()
			sized(t, root, "app/a.yaml", maxFile+int64(more))
		}, "a.yaml has more than 16 MiB"},
		"files": {func(t *testing.T, root string, more int) {
			t.Helper()
			for i := range maxFiles + more {
				put(t, root, map[string]string{fmt.Sprintf("app/%d.yaml", i): "a: 1"})
			}
		}, "more than 10000 YAML files"},
		"all files": {func(t *testing.T, root string, more int) {
			t.Helper()
			for i := range maxTotal / maxFile {
				sized(t, root, fmt.Sprintf("app/%d.yaml", i), maxFile)
			}
			sized(t, root, "app/last.yaml", int64(more))
		}, "more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for more, refused := range map[int]bool{0: false, 1: true} {
				root := t.TempDir()
				c.fill(t, root, more)
				_, _, err := readPath(root, "app")
				if (err != nil) != refused || refused && (!fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%d past the bound: %v", more, err)
				}
			}
		})
	}
}
