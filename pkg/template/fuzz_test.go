package template_test

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// FuzzResolve: no document and no templates break the resolver, every finding
// has a place, the document stays as it was, and twice gives the same.
func FuzzResolve(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		files := map[string][]byte{}
		for _, one := range archive.Files {
			files[one.Name] = one.Data
		}
		f.Add(files["doc.yaml"], files["templates.yaml"])
		f.Add(files["templates.yaml"], files["templates.yaml"])
	}
	f.Fuzz(func(t *testing.T, text, templates []byte) {
		docs, report := yamldoc.Parse("doc.yaml", text)
		again, _ := yamldoc.Parse("doc.yaml", text)
		bodies, _ := yamldoc.Parse("templates.yaml", templates)
		if report.Failed() {
			return
		}
		for i, doc := range docs {
			first, findings := resolveAny(t, doc, bodies)
			second, _ := resolveAny(t, again[i], bodies)
			if !reflect.DeepEqual(doc, again[i]) || first != second {
				t.Errorf("two runs differ:\n%s\n%s", first, second)
			}
			for _, found := range findings {
				if found.Line < 0 || found.Message == "" || found.Code == "" {
					t.Errorf("a finding without a place: %+v", found)
				}
			}
		}
	})
}

// resolveAny resolves a document with whatever the templates are.
func resolveAny(t *testing.T, doc *yamldoc.Node, bodies []*yamldoc.Node) (string, []yamldoc.Finding) {
	t.Helper()
	report := yamldoc.NewReport("doc.yaml")
	resolved, err := template.Resolve(t.Context(), doc, project, report, func(_ context.Context, name ref.Ref, label string) (template.Version, error) {
		for _, b := range bodies {
			body := b.Get("template")
			id, version := body.Get("identifier"), body.Get("versionLabel")
			if id != nil && version != nil && id.Value == name.ID && (label == "" || label == version.Value) {
				return template.Version{Label: version.Value, Doc: body}, nil
			}
		}
		return template.Version{}, fault.New(fault.NotFound, "there is no %s", name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return format(resolved.Doc), report.Findings()
}
