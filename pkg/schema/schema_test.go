package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestMain lets the heap grow: much is made that doesn't stay.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// shapes are those of all kinds, explored once.
var shapes = sync.OnceValue(func() map[ref.Kind]*schema.Object {
	out := map[ref.Kind]*schema.Object{}
	options := builtin.Options(ref.Scope{Account: "a", Org: "o", Project: "p"})
	for _, kind := range ref.Kinds() {
		shape, err := schema.Explore(kind, options)
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
