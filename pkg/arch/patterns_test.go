package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccessPatternsAreWrittenDown: every method of the store is a row of
// docs/data-model.md under the number that ends its comment, and every
// row is a method.
func TestAccessPatternsAreWrittenDown(t *testing.T) {
	t.Parallel()
	code, rows := methods(t), table(t)
	if len(code) < 30 {
		t.Fatalf("only %d methods were found", len(code))
	}
	if diff := cmp.Diff(code, rows); diff != "" {
		t.Errorf("pkg/store/store.go (-) and docs/data-model.md (+) differ:\n%s", diff)
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
	text, err := os.ReadFile(filepath.Join(root(), "docs", "data-model.md"))
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

// TestItemsAreWrittenDown: every kind of item that keys.go makes a partition
// key for is a row of docs/data-model.md, and every row is one.
func TestItemsAreWrittenDown(t *testing.T) {
	t.Parallel()
	kinds := func(file, pattern string) []string {
		text, err := os.ReadFile(filepath.Join(root(), filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	// H and U are partitions of an index only.
	code := slices.DeleteFunc(kinds("pkg/store/dynamo/keys.go", `"([A-Z])(?:#|",)`), func(k string) bool { return k == "H" || k == "U" })
	rows := kinds("docs/data-model.md", "(?m)^\\| `([A-Z])#")
	if len(code) < 15 {
		t.Fatalf("only the kinds %q were found", code)
	}
	if diff := cmp.Diff(code, rows); diff != "" {
		t.Errorf("pkg/store/dynamo/keys.go (-) and docs/data-model.md (+) differ:\n%s", diff)
	}
}
