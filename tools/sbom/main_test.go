package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestAProgramsModulesAreListed takes the test's own program, in which is what this imports.
func TestAProgramsModulesAreListed(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "test.spdx.json")
	if err := run([]string{self, path, "v1.2.3", "2026-01-02T03:04:05+01:00"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc spdx
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	sum, err := digest(self)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Version != "SPDX-2.3" || doc.Name != "test.spdx.json" || doc.Creation.Created != "2026-01-02T02:04:05Z" || !strings.HasSuffix(doc.Namespace, sum) {
		t.Errorf("the document is %q, %q, of %q, %q", doc.Version, doc.Name, doc.Creation.Created, doc.Namespace)
	}
	first := doc.Packages[0]
	if first.Name != "github.com/slipway-cd/slipway" || first.Version != "v1.2.3" || len(first.Checksums) != 1 || first.Checksums[0].Value != sum {
		t.Errorf("the first package is %+v; want this module in version v1.2.3 with the program's checksum", first)
	}
	if i := slices.IndexFunc(doc.Packages, func(p spdxPackage) bool { return p.Name == "stdlib" }); i < 0 || "go"+doc.Packages[i].Version != runtime.Version() {
		t.Errorf("Go's own packages aren't listed as %s: %+v", runtime.Version(), doc.Packages)
	}
	if len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("%d relationships for %d packages", len(doc.Relationships), len(doc.Packages))
	}
}

func TestWhatIsNoProgramIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"main.go", filepath.Join(t.TempDir(), "x"), "v1.2.3", "2026-01-02T03:04:05Z"},
		{"main.go", "x", "v1.2.3", "yesterday"},
		{"main.go"},
	} {
		if err := run(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
