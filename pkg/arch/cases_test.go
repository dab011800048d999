package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	caseRow  = regexp.MustCompile(`(?m)^\| 14\.(\d+) \| .* \| (.*) \|$`)
	caseTest = regexp.MustCompile("^`([^`]+)`: (.+)$")
)

// TestSpecCases: every test that the forty cases of docs/semantics/pipeline.md
// name exists, and each of them has one or says that it has none.
func TestSpecCases(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root(), "docs", "semantics", "pipeline.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := caseRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 40 {
		t.Errorf("there are %d rows; want 40", len(rows))
	}
	for _, row := range rows {
		if strings.HasPrefix(row[2], "none yet: ") {
			continue
		}
		wantTests(t, "case "+row[1], row[2])
	}
}

// wantTests refuses a cell of a table that names a test that there isn't.
func wantTests(t *testing.T, row, cell string) {
	t.Helper()
	for one := range strings.SplitSeq(cell, "; ") {
		m := caseTest.FindStringSubmatch(one)
		if m == nil {
			t.Errorf("%s: %q isn't a file and a name", row, one)
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(), filepath.FromSlash(m[1])))
		if err != nil || !strings.Contains(string(text), m[2]) {
			t.Errorf("%s: %s has no %q (%v)", row, m[1], m[2], err)
		}
	}
}
