package manifest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// fileStore gives files by path, those of the project and "account:" ones.
func fileStore(t *testing.T, files map[string]string) Source {
	t.Helper()
	env := executortest.New(t, nil)
	return Source{Revision: 3, Resolve: env.Resolve, Log: env.Log("x"), Dir: env.Dir, Files: func(_ context.Context, named string) ([]task.StoredFile, error) {
		prefix := ""
		if strings.HasPrefix(named, "account:") {
			prefix = "account:"
		}
		of, err := ref.ParseFile(strings.TrimPrefix(named, prefix), ref.Scope{Account: "a"})
		if err != nil {
			return nil, err
		}
		var out []task.StoredFile
		for name, text := range files {
			path, ok := strings.CutPrefix(name, prefix)
			if ok && (path == of.Path || strings.HasPrefix(path, of.Folder())) {
				out = append(out, task.StoredFile{Path: path, Name: of.Of(path), Content: []byte(text)})
			}
		}
		if len(out) == 0 {
			return nil, fault.New(fault.NotFound, "the file store has no file or folder %s", named)
		}
		return out, nil
	}}
}

// semantics/kubernetes §3: manifests, defaults and values of the file store.
func TestFetchFromTheFileStore(t *testing.T) {
	t.Parallel()
	s := fileStore(t, map[string]string{
		"/k8s/web.yaml": "web", "/k8s/sub/db.yml": "db", "/k8s/values.yaml": "a: 1\nb: 1", "/k8s/README.md": "no", "/one.tpl": "one",
		"account:/k8s/all.yaml": "all", "/values/prod.yaml": "b: 2\nrev: <+kubernetes.release.revision>", "account:/over.yaml": "c: 3",
	})
	m := &origin.Manifest{ID: "m", Type: "K8sManifest", ValuesPaths: []string{"/values/prod.yaml"}, Store: task.Store{Files: &task.FileStore{
		Paths: []string{"/k8s/", "/one.tpl", "account:/k8s"}, Secrets: []task.SecretFile{{ID: "account.s", Text: "secret"}},
	}}}
	files, err := s.Fetch(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files.Manifests {
		got[f.Name] = f.Text
	}
	want := map[string]string{"web.yaml": "web", "sub/db.yml": "db", "one.tpl": "one", "all.yaml": "all", "account.s.yaml": "secret"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	for _, f := range files.Manifests {
		if f.Name == "all.yaml" && f.Place != "account:/k8s/all.yaml" {
			t.Errorf("the account's file is at %q", f.Place)
		}
	}
	over := []origin.ValuesFile{
		{ID: "over", Store: task.Store{Files: &task.FileStore{Paths: []string{"account:/over.yaml"}}}},
		{ID: "gone", Optional: true, Store: task.Store{Files: &task.FileStore{Paths: []string{"/none.yaml"}}}},
	}
	values, err := s.Values(t.Context(), m, files, over)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": int64(1), "b": int64(2), "c": int64(3), "rev": int64(3)}, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	over[1].Optional = false
	if _, err := s.Values(t.Context(), m, files, over); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "values gone: file store, /none.yaml") {
		t.Errorf("a missing file gave %v", err)
	}
	m.ValuesPaths = []string{"/none.yaml"}
	if _, err := s.Values(t.Context(), m, files, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("a missing values file gave %v", err)
	}
}

func TestFolderOfTheFileStore(t *testing.T) {
	t.Parallel()
	s := fileStore(t, map[string]string{"/charts/web/Chart.yaml": "name: web", "/charts/web/templates/a.yaml": "a"})
	m := &origin.Manifest{ID: "m", Type: "HelmChart", Store: task.Store{Files: &task.FileStore{Paths: []string{"/charts/web"}}}}
	files, err := s.Fetch(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(files.Folder, "templates", "a.yaml"))
	if err != nil || string(text) != "a" {
		t.Errorf("the chart's template is %q: %v", text, err)
	}
	if root, err := filepath.Rel(files.Root, files.Folder); err != nil || root != filepath.FromSlash("charts/web") {
		t.Errorf("the folder is %s below the root: %v", root, err)
	}
}

func TestFilesStayInTheScratchFolder(t *testing.T) {
	t.Parallel()
	s := fileStore(t, nil)
	s.Files = func(context.Context, string) ([]task.StoredFile, error) {
		return []task.StoredFile{{Path: "/../../x", Content: []byte("x")}}, nil
	}
	if _, _, err := s.stored(t.Context(), "/a"); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("a path out of the store gave %v", err)
	}
}

// A layer that inherits from a manifest of the file store names a file there,
// also one that the manifest didn't bring.
func TestInheritingFromTheFileStore(t *testing.T) {
	t.Parallel()
	s := fileStore(t, map[string]string{"/k8s/web.yaml": "web", "/conf/prod.yaml": "a: 1"})
	m := &origin.Manifest{ID: "m", Type: "K8sManifest", Store: task.Store{Files: &task.FileStore{Paths: []string{"/k8s"}}}}
	files, err := s.Fetch(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Values(t.Context(), m, files, []origin.ValuesFile{{ID: "v", Store: task.Store{Inherited: []string{"/conf/prod.yaml"}}}})
	if diff := cmp.Diff(map[string]any{"a": int64(1)}, got); err != nil || diff != "" {
		t.Errorf("%v; values (-want +got):\n%s", err, diff)
	}
}
