package template_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var update = flag.Bool("update", false, "write the findings of testdata anew")

var project = ref.Scope{Account: "acme", Org: "default", Project: "web"}

// shelf holds templates; the first version of each is the stable one.
type shelf map[string]template.Version

func shelve(tb testing.TB, text []byte) shelf {
	tb.Helper()
	docs, report := yamldoc.Parse("templates.yaml", text)
	if err := report.Err(); err != nil {
		tb.Fatal(err)
	}
	s := shelf{}
	for _, doc := range docs {
		body := doc.Get("template")
		scope := ref.Scope{Account: "acme"}
		if n := body.Get("orgIdentifier"); n != nil {
			scope.Org = n.Value
		}
		if n := body.Get("projectIdentifier"); n != nil {
			scope.Project = n.Value
		}
		name := ref.Ref{Scope: scope, ID: body.Get("identifier").Value}
		v := template.Version{Label: body.Get("versionLabel").Value, Revision: 1, Doc: body}
		s[name.String()+"@"+v.Label] = v
		if _, ok := s[name.String()+"@"]; !ok {
			s[name.String()+"@"] = v
		}
	}
	return s
}

func (s shelf) find(_ context.Context, name ref.Ref, label string) (template.Version, error) {
	if v, ok := s[name.String()+"@"+label]; ok {
		return v, nil
	}
	return template.Version{}, fault.New(fault.NotFound, "there is no %s@%s", name, label)
}

func parse(tb testing.TB, file string, text []byte) *yamldoc.Node {
	tb.Helper()
	docs, report := yamldoc.Parse(file, text)
	if err := report.Err(); err != nil || len(docs) != 1 {
		tb.Fatalf("%s: %d documents, %v", file, len(docs), err)
	}
	return docs[0]
}

func format(n *yamldoc.Node) string { return string(yamldoc.Format(n, nil)) }

// TestResolve runs testdata/*.txtar. Each has the document, the templates,
// what the document becomes (not compared if it is left out) and the findings.
func TestResolve(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			resolveCase(t, path)
		})
	}
}

func resolveCase(t *testing.T, path string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	report := yamldoc.NewReport("doc.yaml")
	doc := parse(t, "doc.yaml", files["doc.yaml"])
	resolved, err := template.Resolve(t.Context(), doc, project, report, shelve(t, files["templates.yaml"]).find)
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	for _, f := range report.Findings() {
		found.WriteString(f.String() + "\n")
	}
	for _, u := range resolved.Missing() {
		found.WriteString("missing: " + u.String() + " at " + u.Path + "\n")
	}
	if *update {
		for i, f := range archive.Files {
			if f.Name == "findings" {
				archive.Files[i].Data = []byte(found.String())
			}
		}
		if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(files["findings"]), found.String()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if want, ok := files["want.yaml"]; ok {
		if diff := cmp.Diff(format(parse(t, "want.yaml", want)), format(resolved.Doc)); diff != "" {
			t.Errorf("resolved (-want +got):\n%s", diff)
		}
	}
	if !reflect.DeepEqual(parse(t, "doc.yaml", files["doc.yaml"]), doc) {
		t.Error("the document itself was changed")
	}
}

// tower is templates of which each links to the next one so many times.
func tower(height, links int) string {
	var b strings.Builder
	for i := range height {
		fmt.Fprintf(&b, "---\ntemplate:\n  identifier: t%d\n  versionLabel: v1\n  type: StepGroup\n  spec:\n    steps:\n", i)
		for j := range links {
			fmt.Fprintf(&b, "      - stepGroup: {name: g, identifier: g%d, template: {templateRef: account.t%d}}\n", j, i+1)
		}
	}
	fmt.Fprintf(&b, "---\ntemplate: {identifier: t%d, versionLabel: v1, type: StepGroup, spec: {steps: []}}\n", height)
	return b.String()
}

func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		height, links int
		want          string
	}{
		{9, 1, ""},
		{10, 1, "[TEMPLATES_TOO_DEEP]"},
		{9, 10, "[TEMPLATES_TOO_LARGE]"},
	} {
		report := yamldoc.NewReport("doc.yaml")
		doc := parse(t, "doc.yaml", []byte("pipeline: {stages: [{stage: {spec: {execution: {steps: [{stepGroup: {name: a, identifier: a, template: {templateRef: account.t0}}}]}}}}]}"))
		if _, err := template.Resolve(t.Context(), doc, project, report, shelve(t, []byte(tower(c.height, c.links))).find); err != nil {
			t.Fatal(err)
		}
		found := report.Findings()
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.Contains(found[0].String(), c.want)) {
			t.Errorf("%d high with %d links each: %v; want %s", c.height, c.links, found, c.want)
		}
	}
}
