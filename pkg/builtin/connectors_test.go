package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TestConnectors proves of each connector type that there is, by an example of
// it: it decodes, keys that it hasn't are reported, it is for something, it can
// be tested, and none of its secrets is in what a delegate gets.
func TestConnectors(t *testing.T) {
	t.Parallel()
	examples, err := txtar.ParseFile("testdata/connectors.txtar")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/connectors.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range examples.Files {
		names = append(names, f.Name)
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			doc := string(f.Data)
			e := right(t, doc)
			unknown(t, more(doc))
			gives, _, _ := strings.Cut(strings.TrimPrefix(doc, "# gives "), "\n")
			if got := strings.Join(uses(e.Connector.Spec), ", "); got != gives {
				t.Errorf("it gives %q; want %q", got, gives)
			}
			if row := "`" + f.Name + "`"; !strings.Contains(string(page), row) {
				t.Errorf("docs/connectors.md says nothing of %s", row)
			}
			probed(t, doc, e)
		})
	}
	if diff := cmp.Diff(builtin.Connectors().Names(), names); diff != "" {
		t.Errorf("types (-that there are +with an example):\n%s", diff)
	}
}

// right decodes a document with which nothing is wrong.
func right(t *testing.T, doc string) *entity.Entity {
	t.Helper()
	e, found := decode(doc)
	if len(found) > 0 {
		t.Fatalf("findings: %v", found)
	}
	return e
}

func decode(doc string) (*entity.Entity, []yamldoc.Finding) {
	docs, report := yamldoc.Parse("", []byte(doc))
	e := entity.Decode(docs[0], report, entity.Options{Scope: project(), Types: builtin.Types()})
	return e, report.Findings()
}

func project() ref.Scope { return ref.Scope{Account: "acme", Org: "default", Project: "web"} }

// more is a document with a key more in its spec, which nobody documents.
func more(doc string) string { return strings.Replace(doc, "spec: {", "spec: {nobody: 1, ", 1) }

// unknown checks that the key is reported.
func unknown(t *testing.T, doc string) {
	t.Helper()
	_, found := decode(doc)
	if got := fmt.Sprint(found); !strings.Contains(got, `unknown key "nobody"`) {
		t.Errorf("an unknown key gave %s", got)
	}
}

// uses are what a connector is for.
func uses(s connector.Spec) []string {
	var out []string
	for _, use := range []struct {
		name string
		is   func(connector.Spec) bool
	}{
		{"Clusters", is[connector.Clusters]},
		{"AWS", is[connector.AWS]},
		{"Google", is[connector.Google]},
		{"Azure", is[connector.Azure]},
		{"Repositories", is[connector.Repositories]},
		{"Packages", is[connector.Packages]},
		{"Servers", is[connector.Servers]},
		{"Images", is[connector.Images]},
		{"Charts", is[connector.Charts]},
		{"Secrets", is[connector.Secrets]},
	} {
		if use.is(s) {
			out = append(out, use.name)
		}
	}
	return out
}

func is[Use any](s connector.Spec) bool {
	_, ok := s.(Use)
	return ok
}

// probed checks how the example is tested: with each secret that it names as a
// placeholder, and none in clear.
func probed(t *testing.T, doc string, e *entity.Entity) {
	t.Helper()
	docs, _ := yamldoc.Parse("", []byte(doc))
	r := &reach{}
	c := builtin.Connectors().Use("c", e.Connector.Type.Value, project(), docs[0].At("connector", "spec"), r)
	p, err := c.Probe()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Selectors, []string{"near"}) {
		t.Errorf("the selectors are %v", c.Selectors)
	}
	payload, err := json.Marshal(p.Task)
	if err != nil {
		t.Fatal(err)
	}
	text := string(payload)
	if text == `{"connector":""}` {
		t.Error("there is nothing to test it with")
	}
	for _, named := range e.References {
		if named.Kind != ref.Secret {
			continue
		}
		placeholder := "⟦" + named.Text + "⟧"
		if !strings.Contains(text, placeholder) {
			t.Errorf("the secret %s isn't asked for: %s", named.Text, text)
		}
		if strings.Contains(strings.ReplaceAll(text, placeholder, ""), named.Text) {
			t.Errorf("%s stands there as it is: %s", named.Text, text)
		}
	}
}

// reach gives placeholders that say what they stand for (connector.Reach).
type reach struct{}

func (*reach) Secret(name yamldoc.Field[string]) (string, error) {
	if name.Value == "" {
		return "", nil
	}
	return "⟦" + name.Value + "⟧", nil
}

func (*reach) Identity(audience string, tags []string) (name, subject string) {
	return "identity-1", "account:default"
}

func (*reach) SSHKey(name string) (task.SSH, error) {
	return task.SSH{User: "git", Key: "⟦" + name + "⟧"}, nil
}

func (*reach) Template(name ref.Ref, label string) (connector.Template, error) {
	docs, _ := yamldoc.Parse("", []byte("{shell: Bash, source: {type: Inline, spec: {script: secret=1}}, environmentVariables: [{name: path, type: String, value: <+input>}]}"))
	return connector.Template{Name: name.ID + "@" + label, Scope: name.Scope, Spec: docs[0]}, nil
}

func (*reach) File(ref.File) (string, error) { return "", nil }

func (*reach) Resolve(text string, _ ref.Scope, _ map[string]expr.Value) (expr.Value, error) {
	return expr.String(text), nil
}
