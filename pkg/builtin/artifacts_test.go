package builtin_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TestArtifactSources proves of each type of artifact source, by an example of
// it: it decodes, keys that it hasn't are reported, a delegate can ask what it
// is, and none of its connector's secrets is in what the delegate gets.
func TestArtifactSources(t *testing.T) {
	t.Parallel()
	examples, err := txtar.ParseFile("testdata/artifacts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/artifacts.md")
	if err != nil {
		t.Fatal(err)
	}
	aws, err := os.ReadFile("../../docs/artifacts-aws.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range examples.Files {
		names = append(names, f.Name)
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			by, source, _ := strings.Cut(strings.TrimPrefix(string(f.Data), "# by "), "\n")
			right(t, ofService(source))
			unknown(t, ofService(more(source)))
			if pages := string(page) + string(aws); !regexp.MustCompile(`(?m)^##.*\b` + f.Name + `\b|type: ` + f.Name + `\b`).MatchString(pages) {
				t.Errorf("docs/artifacts.md and docs/artifacts-aws.md say nothing of %s", f.Name)
			}
			asked(t, source, by)
		})
	}
	if diff := cmp.Diff(builtin.Types().Artifacts.Names(), names); diff != "" {
		t.Errorf("types (-that there are +with an example):\n%s", diff)
	}
}

// ofService is a service with a source.
func ofService(source string) string {
	return "service: {identifier: s, name: s, serviceDefinition: {type: Kubernetes, spec: {artifacts: {primary: {primaryArtifactRef: a, sources: [" + source + "]}}}}}"
}

// asked checks what a delegate asks by the example of a connector.
func asked(t *testing.T, source, by string) {
	t.Helper()
	docs, _ := yamldoc.Parse("", []byte(source))
	typ, _ := builtin.Types().Artifacts.Of(docs[0].Get("type").Value)
	s, err := typ.Resolved(docs[0].Get("spec"))
	if err != nil {
		t.Fatal(err)
	}
	a := artifact.Asked{Artifact: lookup.Artifact{Type: typ.Name}}
	nothing, err := json.Marshal(a.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	c, secrets := of(t, by)
	if err := s.Ask(bare{}, c, &a); err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(a.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	var p task.PullSecret
	s.Pull(a, &p)
	pull, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if string(payload) == string(nothing) || a.Name == "" {
		t.Errorf("a delegate would ask nothing: %s", payload)
	}
	text := string(payload) + string(pull)
	for _, name := range secrets {
		if strings.Contains(strings.ReplaceAll(text, "⟦"+name+"⟧", ""), name) {
			t.Errorf("%s stands there as it is: %s", name, text)
		}
	}
	if len(secrets) > 0 && !strings.Contains(text, "⟦") {
		t.Errorf("nobody logs in: %s", text)
	}
	if typ.Cloud && string(pull) == `{"form":""}` {
		t.Error("nobody would pull the image")
	}
}

// of is the example of a connector, and the secrets that it names.
func of(t *testing.T, typ string) (connector.Connector, []string) {
	t.Helper()
	examples, err := txtar.ParseFile("testdata/connectors.txtar")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(examples.Files, func(f txtar.File) bool { return f.Name == typ })
	if i < 0 {
		return connector.Connector{}, nil
	}
	doc := string(examples.Files[i].Data)
	var secrets []string
	for _, r := range right(t, doc).References {
		secrets = append(secrets, r.Text)
	}
	docs, _ := yamldoc.Parse("", []byte(doc))
	return builtin.Connectors().Use("c", typ, project(), docs[0].At("connector", "spec"), &reach{}), secrets
}

// bare gives a source nothing (artifact.Reach).
type bare struct{}

func (bare) Selectors(list []string) ([]string, error)       { return list, nil }
func (bare) File(string) (string, error)                     { return "", nil }
func (bare) Inputs(*yamldoc.Node) (map[string]string, error) { return map[string]string{}, nil }
