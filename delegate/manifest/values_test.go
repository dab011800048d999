package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/task"
)

// §23.5, §23.16 and entities §17.16-17: the layers of values.
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
	above := []task.ValuesFile{{ID: "over", Store: task.Store{Inline: "rev: <+kubernetes.release.revision>"}}}
	m := &task.Manifest{ValuesPaths: []string{"/a.yaml", "b.yaml"}}
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
	m.ValuesPaths = []string{"../../etc/passwd"}
	m.OptionalValuesYAML = false
	if _, err := s.Values(t.Context(), m, Files{Root: root}, nil); err == nil {
		t.Error("a path out of the repository was read")
	}
}
