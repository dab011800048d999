package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccessPatternsAreWrittenDown: every method of the store is a row of
// docs/access-patterns.md under the number that ends its comment, and every
// row is a method (house style, rule 20).
func TestAccessPatternsAreWrittenDown(t *testing.T) {
	t.Parallel()
	code, rows := methods(t), table(t)
	if len(code) < 30 {
		t.Fatalf("only %d methods were found", len(code))
	}
	if diff := cmp.Diff(code, rows); diff != "" {
		t.Errorf("pkg/store/store.go (-) and docs/access-patterns.md (+) differ:\n%s", diff)
	}
	for n := 1; n <= len(code); n++ {
		if code[fmt.Sprintf("AP-%d", n)] == "" {
			t.Errorf("there are %d methods, but none is AP-%d", len(code), n)
		}
	}
}

// methods gives the store's methods by their numbers.
func methods(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(), "pkg", "store", "store.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`\s(AP-\d+)\n$`)
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		i, ok := n.(*ast.InterfaceType)
		if !ok {
			return true
		}
		for _, m := range i.Methods.List {
			if len(m.Names) == 0 {
				continue // an embedded interface
			}
			name := m.Names[0].Name
			found := number.FindStringSubmatch(m.Doc.Text())
			if found == nil {
				t.Errorf("the comment of %s doesn't end with a number AP-n", name)
				continue
			}
			if other, taken := out[found[1]]; taken {
				t.Errorf("%s and %s are both %s", other, name, found[1])
			}
			out[found[1]] = name
		}
		return true
	})
	return out
}

// table gives the rows' methods by their numbers. No cell may be empty.
func table(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(), "docs", "access-patterns.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (AP-\\d+) \\| `(\\w+)` (?:\\| [^|\n]*[^| \n] ){5}\\|$")
	out := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if _, twice := out[m[1]]; twice {
			t.Errorf("%s has two rows", m[1])
		}
		out[m[1]] = m[2]
	}
	return out
}
