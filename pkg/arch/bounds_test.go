package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryBoundHasItsTest: each row of the tables of bounds in
// docs/limits.md says what, how much and what happens past it, and names tests
// that exist.
func TestEveryBoundHasItsTest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root(), "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tables, found := strings.Cut(string(page), "## Every bound\n")
	if !found {
		t.Fatal("docs/limits.md has no heading Every bound")
	}
	rows := 0
	for line := range strings.Lines(tables) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| what |") || strings.HasPrefix(line, "| --- |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 {
			t.Errorf("%q has %d cells; want what, bound, past it and tests", line, len(cells))
			continue
		}
		wantTests(t, cells[0], cells[3])
	}
	if rows < 10 {
		t.Errorf("there are %d rows of bounds; want at least 10", rows)
	}
}
