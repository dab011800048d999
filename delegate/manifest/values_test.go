package manifest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// semantics/kubernetes §23.5, §23.16 and semantics/entities §17.16-17: the
// layers of values.
func TestValues(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "replicas: 4\nport: {http: 80}", "b.yaml": "replicas: 2\nport: {tls: 443}"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := executortest.New(t, nil)
	s := Source{Revision: 7, Resolve: env.Resolve, Log: env.Log("x")}
	above := []origin.ValuesFile{{ID: "over", Store: task.Store{Inline: "rev: <+kubernetes.release.revision>"}}}
	m := &origin.Manifest{ValuesPaths: []string{"/a.yaml", "b.yaml"}}
	got, err := s.Values(t.Context(), m, Files{Root: root, Defaults: []File{{Name: "values.yaml", Text: "replicas: 1\nname: web"}}}, above)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"replicas": int64(2), "name": "web", "port": map[string]any{"http": int64(80), "tls": int64(443)}, "rev": int64(7)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	m.ValuesPaths = []string{"none.yaml"}
	if _, err := s.Values(t.Context(), m, Files{Root: root}, nil); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a missing values file gave %v", err)
	}
	m.OptionalValuesYAML = true
	if _, err := s.Values(t.Context(), m, Files{Root: root}, nil); err != nil {
		t.Errorf("a missing optional values file gave %v", err)
	}
	if log := env.Text("x", executor.Info); !strings.Contains(log, "none.yaml is optional, and left out") {
		t.Errorf("the log doesn't say what was left out:\n%s", log)
	}
	m.ValuesPaths = []string{"../../etc/passwd"}
	for _, m.OptionalValuesYAML = range []bool{false, true} {
		if _, err := s.Values(t.Context(), m, Files{Root: root}, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("a path out of the repository gave %v", err)
		}
	}
	layer := []origin.ValuesFile{{ID: "layer", Optional: true, Store: task.Store{Inherited: m.ValuesPaths}}}
	if _, err := s.Values(t.Context(), &origin.Manifest{}, Files{Root: root}, layer); !fault.Is(err, fault.Invalid) {
		t.Errorf("a layer's path out of the repository gave %v", err)
	}
}

// What is optional may be missing. What can't be read for another reason isn't
// left out: the defaults below it would be deployed instead.
func TestOptionalValuesThatCantBeRead(t *testing.T) {
	t.Parallel()
	env := executortest.New(t, nil)
	stored := task.Store{Files: &task.FileStore{Paths: []string{"/prod.yaml"}}}
	own := &origin.Manifest{Store: stored, ValuesPaths: []string{"/prod.yaml"}, OptionalValuesYAML: true}
	layer := []origin.ValuesFile{{ID: "layer", Optional: true, Store: stored}}
	for code, fails := range map[fault.Code]bool{fault.NotFound: false, fault.Unavailable: true, fault.Forbidden: true} {
		s := Source{Resolve: env.Resolve, Dir: env.Dir, Log: env.Log("x"), Files: func(context.Context, string) ([]task.StoredFile, error) {
			return nil, fault.New(code, "no")
		}}
		if _, err := s.Values(t.Context(), own, Files{}, nil); fails != fault.Is(err, code) {
			t.Errorf("%s: the manifest's own file gave %v", code, err)
		}
		if _, err := s.Values(t.Context(), &origin.Manifest{}, Files{}, layer); fails != fault.Is(err, code) {
			t.Errorf("%s: a layer gave %v", code, err)
		}
	}
}

// An inline text has been resolved before it comes: what is left that looks
// like an expression was said by an event or an output.
func TestInlineTextsAreNotResolvedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.yaml"), []byte("file: <+secrets.getValue(\"x\")>"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := executortest.New(t, func(text string) string { return strings.ReplaceAll(text, `<+secrets.getValue("x")>`, "s3cr3t") })
	s := Source{Revision: 7, Resolve: env.Resolve, Log: env.Log("x")}
	files := Files{Root: root}
	own := &origin.Manifest{ValuesPaths: []string{"a.yaml"}, ParamsPaths: []string{"a.yaml"}, Kustomize: &origin.Kustomize{PatchesPaths: []string{"a.yaml"}}}
	const said = `note: <+secrets.getValue("x")> in <+kubernetes.release.revision>`
	above := []origin.ValuesFile{{ID: "over", Store: task.Store{Inline: said}}}
	const kept, found = `note: <+secrets.getValue("x")> in 7`, "file: s3cr3t"

	values, err := s.Values(t.Context(), own, files, above)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"note": strings.TrimPrefix(kept, "note: "), "file": "s3cr3t"}, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for name, read := range map[string]func() ([]File, error){
		"patches":    func() ([]File, error) { return s.Patches(t.Context(), own, files, above) },
		"parameters": func() ([]File, error) { return s.Params(t.Context(), own, files, above) },
	} {
		got, err := read()
		if err != nil || len(got) != 2 || got[0].Text != found || got[1].Text != kept {
			t.Errorf("%s are %v, %v; want %q and %q", name, got, err, found, kept)
		}
	}
	one, err := s.One(t.Context(), "patch", task.Store{Inline: said})
	if err != nil || one.Text != kept {
		t.Errorf("a step's own text is %q, %v; want %q", one.Text, err, kept)
	}
}
