package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var guaranteeRow = regexp.MustCompile(`(?m)^\| .* \| .* \| .* \| (.*) \|$`)

// TestEveryGuaranteeHasItsTest: every test that docs/reliability.md and
// docs/security.md name exists, and each crash point and each attack names one.
func TestEveryGuaranteeHasItsTest(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"reliability.md", "security.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			guaranteesOf(t, page)
		})
	}
}

func guaranteesOf(t *testing.T, name string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root(), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, row := range guaranteeRow.FindAllStringSubmatch(string(page), -1) {
		if row[1] == "tests" || row[1] == "---" {
			continue
		}
		rows++
		for _, one := range strings.Split(row[1], "; ") {
			m := caseTest.FindStringSubmatch(one)
			if m == nil {
				t.Errorf("%q isn't a file and a test", one)
				continue
			}
			text, err := os.ReadFile(filepath.Join(root(), filepath.FromSlash(m[1])))
			if err != nil || !strings.Contains(string(text), "\nfunc "+m[2]+"(t *testing.T)") {
				t.Errorf("%s has no %q (%v)", m[1], m[2], err)
			}
		}
	}
	if rows < 15 {
		t.Errorf("there are %d rows", rows)
	}
}
