package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/shell"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// extracting is a source whose scripts run on this host.
func extracting(t *testing.T) (Source, *executortest.Env) {
	t.Helper()
	env := executortest.New(t, nil)
	script := shell.New(os.Environ(), t.TempDir())
	x := NewExtractor(script, executortest.Assignment(t, lane.Kind, lane.Spec{}), env.Env, "Fetch Files")
	return Source{Extract: x, Resolve: env.Resolve, Log: env.Log("Fetch Files")}, env
}

// semantics/entities §2.4: a script brings the files, once for a task; values
// are named from its folder, and layers may inherit from it.
func TestExtraction(t *testing.T) {
	t.Parallel()
	s, env := extracting(t)
	ran := filepath.Join(t.TempDir(), "ran")
	script := "echo once >> " + ran + "; pwd; mkdir -p app/sub conf; echo 'kind: A' > app/a.yaml; echo 'kind: B' > app/sub/b.yaml; echo no > app/readme; echo 'a: 1' > app/values.yaml; echo 'b: 2' > conf/b.yaml; echo 'c: 3' > conf/c.yaml"
	m := &origin.Manifest{ID: "app", Type: "K8sManifest", Store: task.Store{Script: &task.Extraction{Script: script, Path: "app"}}, ValuesPaths: []string{"conf/b.yaml"}}
	files, err := s.Fetch(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files.Manifests {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"a.yaml", "sub/b.yaml"}, names); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	above := []origin.ValuesFile{
		{ID: "inherited", Store: task.Store{Inherited: []string{"conf/c.yaml"}}},
		{ID: "own", Store: task.Store{Script: &task.Extraction{Script: "echo 'd: 4' > v.yaml", Path: "v.yaml"}}},
	}
	got, err := s.Values(t.Context(), m, files, above)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": int64(1), "b": int64(2), "c": int64(3), "d": int64(4)}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if _, err := s.Fetch(t.Context(), m); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(ran); err != nil || string(text) != "once\n" {
		t.Errorf("the script ran: %q, %v", text, err)
	}
	if log := env.Text("Fetch Files", executor.Info); !strings.Contains(log, files.Root) {
		t.Errorf("the log of %s doesn't have what the script said:\n%s", files.Root, log)
	}

	for _, tt := range []struct{ name, script, path, err string }{
		{"a script that fails", "exit 3", "app", "the script that brings app: the script ended with exit code 3"},
		{"one that brings nothing", "true", "app", "there is no such file or folder"},
		{"a path out of its folder", "true", "../..", "leads out of the repository"},
		{"a link out of its folder", "ln -s /etc app", "app", "a link that leads out"},
	} {
		m := &origin.Manifest{ID: "m", Type: "K8sManifest", Store: task.Store{Script: &task.Extraction{Script: tt.script, Path: tt.path}}}
		if _, err := s.Fetch(t.Context(), m); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v; want an error about %s", tt.name, err, tt.err)
		}
	}
	inline := &origin.Manifest{ID: "m", Type: "K8sManifest", Store: task.Store{Inline: "kind: A"}}
	if files, err = s.Fetch(t.Context(), inline); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Values(t.Context(), inline, files, above); err == nil || !strings.Contains(err.Error(), "inherited inherits its files from the main manifest, which has none") {
		t.Errorf("inheriting from nothing gave %v", err)
	}
}
