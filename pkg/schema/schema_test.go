package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
	"github.com/slipway-cd/slipway/pkg/step/stepfiles"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var update = flag.Bool("update", false, "write testdata anew")

// shapes are those of all kinds, explored once.
var shapes = sync.OnceValue(func() map[ref.Kind]*schema.Object {
	out := map[ref.Kind]*schema.Object{}
	for _, kind := range ref.Kinds() {
		shape, err := schema.Explore(kind)
		if err != nil {
			panic(err)
		}
		out[kind] = shape
	}
	return out
})

// outlines are those of all kinds, made once.
var outlines = sync.OnceValue(func() map[ref.Kind][]schema.Definition {
	out := map[ref.Kind][]schema.Definition{}
	for kind, shape := range shapes() {
		out[kind] = schema.Outline(shape)
	}
	return out
})

// validator is the compiled schema of all kinds, made once.
var validator = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := schema.Render(shapes())
	if err != nil {
		return nil, err
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", plain); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
})

// TestOutline shows what every key of every kind is taken for. Who changes a
// decoder sees here what that changes for documents.
func TestOutline(t *testing.T) {
	t.Parallel()
	for _, kind := range ref.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			for _, d := range outlines()[kind] {
				got.WriteString(d.String())
			}
			golden := filepath.Join("testdata", string(kind)+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("keys (-want +got); go generate ./pkg/schema writes them anew:\n%s", diff)
			}
		})
	}
}

// TestSchemasAreThoseOfTheDecoders keeps schemas.json true.
func TestSchemasAreThoseOfTheDecoders(t *testing.T) {
	t.Parallel()
	got, err := schema.Render(shapes())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schemas.json", got, 0o600); err != nil {
			t.Fatal(err)
		}
		return // what is embedded is of the time before
	}
	want, err := schema.JSON(ref.Kinds()...)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error("schemas.json isn't what the decoders take; go generate ./pkg/schema writes it anew")
	}
}

// TestSchemaOfOneKind: it has the definitions that it needs, and no others.
func TestSchemaOfOneKind(t *testing.T) {
	t.Parallel()
	for _, kind := range ref.Kinds() {
		text, err := schema.JSON(kind)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Properties, Definitions map[string]json.RawMessage }
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(maps.Keys(doc.Properties)); !slices.Equal(got, []string{string(kind)}) {
			t.Errorf("%s: the roots are %q", kind, got)
		}
		named := map[string]bool{}
		for _, m := range regexp.MustCompile(`"#/definitions/([^"]+)"`).FindAllSubmatch(text, -1) {
			named[string(m[1])] = true
		}
		want, got := slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(doc.Definitions))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: definitions (-named +there):\n%s", kind, diff)
		}
	}
	if _, err := schema.JSON("nothing"); err == nil {
		t.Error("there is a schema of no kind")
	}
}

func files(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", p, err)
		}
		all = append(all, found...)
	}
	return all
}

// validate checks every document of a file that has a kind.
func validate(t *testing.T, path string) (wrong []string, documents int) {
	t.Helper()
	valid, err := validator()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs, report := yamldoc.Parse(path, data)
	if report.Failed() {
		wrong = append(wrong, report.Err().Error())
	}
	for _, doc := range docs {
		if !slices.ContainsFunc(ref.Kinds(), func(k ref.Kind) bool { return doc.Get(string(k)) != nil }) {
			continue
		}
		documents++
		text, err := json.Marshal(doc.Any())
		if err != nil {
			t.Fatal(err)
		}
		plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid.Validate(plain); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong, documents
}

func TestGoodDocumentsAreValid(t *testing.T) {
	t.Parallel()
	paths := files(t, "../entity/testdata/ok/*.yaml", "../../examples/*/*.yaml")
	steps, err := stepfiles.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range steps {
		paths = append(paths, of.Example)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "-off.yaml") {
			continue // it says why
		}
		if wrong, n := validate(t, path); len(wrong) > 0 {
			t.Errorf("%s:\n%s", path, strings.Join(wrong, "\n"))
		} else if n == 0 && !strings.HasSuffix(path, "example.yaml") {
			t.Errorf("%s has no entity", path)
		}
	}
}

// beyond are the broken documents whose mistake no schema can say, by the
// beginnings of their names.
func beyond() []string {
	return []string{
		// names that stand twice, and names that mustn't be
		"identifier-dash", "identifier-long-name", "identifier-reserved", "key-twice", "stage-identifiers", "step-identifiers", "step-names",
		// what depends on a part of the document that is far away
		"failure-all-and-more", "failure-circle", "failure-places", "failure-rollback", "group-depth", "native-helm-k8s-step", "service-artifact-choice", "service-manifests",
		// what depends on where it is saved
		"deployment-references", "deployment-group", "scope-",
		// the language of expressions
		"deployment-expressions", "pipeline-expression", "pipeline-input",
		// warnings
		"deployment-no-strategies", "lists-empty",
		// bounds
		"too-many",
	}
}

func TestBrokenDocumentsAreNot(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "../entity/testdata/err/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		wrong, n := validate(t, path)
		switch known := slices.ContainsFunc(beyond(), func(begin string) bool { return strings.HasPrefix(name, begin) }); {
		case n == 0: // the root key is what is wrong
		case len(wrong) == 0 && !known:
			t.Errorf("%s is valid", name)
		case len(wrong) > 0 && known:
			t.Errorf("%s isn't valid, but is listed as beyond schemas", name)
		}
	}
}
