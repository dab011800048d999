package schema_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TestStepsHaveTheSameKeysEverywhere: what a step type's decoder takes, what the
// published schema lets stand in its spec and what its page tells of are one.
func TestStepsHaveTheSameKeysEverywhere(t *testing.T) {
	t.Parallel()
	words := wordsOfSteps(t)
	published := publishedSpecs(t)
	for _, typ := range builtin.Steps() {
		t.Run(typ.Name, func(t *testing.T) {
			t.Parallel()
			taken := keysTaken(typ, words)
			if diff := cmp.Diff(taken, published[typ.Name]); diff != "" {
				t.Errorf("keys (-decoder +schemas.json):\n%s", diff)
			}
			if diff := cmp.Diff(taken, keysTold(t, typ)); diff != "" {
				t.Errorf("keys (-decoder +docs/steps/%s.md):\n%s", strings.ToLower(typ.Name), diff)
			}
		})
	}
}

// keysTaken are those of the words that a step type's decoder knows as keys.
func keysTaken(typ step.Type, words []string) []string {
	spec := &yamldoc.Node{Kind: yamldoc.Mapping}
	for _, w := range words {
		spec.Entries = append(spec.Entries, yamldoc.Entry{Key: w, Value: &yamldoc.Node{}})
	}
	r := yamldoc.NewReport("")
	typ.Decode(spec, r)
	unknown := map[string]bool{}
	for _, f := range r.Findings() {
		unknown[f.Path] = unknown[f.Path] || f.Code == "UNKNOWN_KEY"
	}
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return unknown[w] })
}

// publishedSpecs are the keys that the schema has in the spec of each step type.
func publishedSpecs(t *testing.T) map[string][]string {
	t.Helper()
	text, err := schema.JSON(ref.Pipeline)
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Ref   string `json:"$ref"`
		AnyOf []struct {
			Ref string `json:"$ref"`
		} `json:"anyOf"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var doc struct {
		Definitions map[string]struct {
			object
			AllOf []struct {
				If struct {
					Properties map[string]struct {
						Enum []string `json:"enum"`
					} `json:"properties"`
				} `json:"if"`
				Then struct {
					Properties map[string]object `json:"properties"`
				} `json:"then"`
			} `json:"allOf"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, c := range doc.Definitions["step"].AllOf {
		spec := c.Then.Properties["spec"]
		name := spec.Ref
		for _, one := range spec.AnyOf {
			if strings.HasSuffix(one.Ref, "Spec") || name == "" {
				name = one.Ref
			}
		}
		keys := slices.Sorted(maps.Keys(doc.Definitions[strings.TrimPrefix(name, "#/definitions/")].Properties))
		for _, typ := range c.If.Properties["type"].Enum {
			out[typ] = keys
		}
	}
	return out
}

var (
	fieldsTable = regexp.MustCompile(`(?s)## Fields\n(.*?)\n## `)
	fieldsRow   = regexp.MustCompile("(?m)^\\| (`.*?) \\|")
	fieldsKey   = regexp.MustCompile("`([a-zA-Z]+)")
)

// keysTold are the keys that a step type's page has in its table of fields.
func keysTold(t *testing.T, typ step.Type) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "steps", strings.ToLower(typ.Name)+".md"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, table := range fieldsTable.FindAllStringSubmatch(string(page), -1) {
		for _, row := range fieldsRow.FindAllStringSubmatch(table[1], -1) {
			for _, m := range fieldsKey.FindAllStringSubmatch(row[1], -1) {
				keys = append(keys, m[1])
			}
		}
	}
	return sorted(keys)
}

// wordsOfSteps are all texts of one word in the sources of the step types: what
// may be a key of a spec is among them.
func wordsOfSteps(t *testing.T) []string {
	t.Helper()
	var words []string
	one := regexp.MustCompile(`^[a-zA-Z]+$`)
	for _, file := range sourcesOfSteps(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && one.MatchString(text) {
					words = append(words, text)
				}
			}
			return true
		})
	}
	return sorted(words)
}

func sourcesOfSteps(t *testing.T) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
	set := token.NewFileSet()
	for _, folder := range []string{"provisioner", "step", "swimlane"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			out[path] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestKeysOfStepsAreNamedOnce: what a mapping may hold is said by document.Keys
// alone, so that what is read, what is unknown and the schema can't differ.
func TestKeysOfStepsAreNamedOnce(t *testing.T) {
	t.Parallel()
	mappings := 0
	for path, file := range sourcesOfSteps(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SwitchStmt:
				if selects(n.Tag, "Key") {
					t.Errorf("%s chooses by a key; want document.Keys", path)
				}
			case *ast.CallExpr:
				if selects(n.Fun, "Unknown") {
					t.Errorf("%s reports unknown keys itself; want document.Decoder.Fields", path)
				}
				if selects(n.Fun, "Fields") {
					mappings++
				}
			}
			return true
		})
	}
	if mappings < 50 {
		t.Errorf("found %d mappings: are they read in another way now?", mappings)
	}
}

// selects says whether an expression selects a name, as in x.Name.
func selects(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}
