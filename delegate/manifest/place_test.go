package manifest

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// repository is a Git repository with some files.
func repository(t *testing.T, files map[string]string) task.Git {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, files)
	return commit(t, dir)
}

// commit makes a Git repository of a folder.
func commit(t *testing.T, dir string) task.Git {
	t.Helper()
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "."}, {"commit", "--quiet", "-m", "files"}, {"config", "uploadpack.allowFilter", "true"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return task.Git{URL: testservers.Git(t, dir), Branch: "main"}
}

// Manifests, their own values and the layers above them, all in one
// repository, cost one fetch; nothing else of it is checked out.
func TestOneFetchForAllPaths(t *testing.T) {
	t.Parallel()
	git := repository(t, map[string]string{
		"app/web.yaml": "kind: A", "app/values.yaml": "a: 1", "conf/own.yaml": "b: 2", "conf/high.yaml": "c: 3", "conf/low.yaml": "c: 1", "unrelated/x.yaml": "x", "conf/none.yaml": "d: 4",
	})
	at := func(paths ...string) *task.Git {
		g := git
		g.Paths = paths
		return &g
	}
	cache := t.TempDir()
	m := &origin.Manifest{ID: "app", Type: "K8sManifest", Store: task.Store{Git: at("app")}, ValuesPaths: []string{"/conf/own.yaml"}}
	above := []origin.ValuesFile{{ID: "v", Store: task.Store{Git: at("conf/low.yaml", "conf/high.yaml")}}, {ID: "none", Optional: true, Store: task.Store{Git: at("conf/missing.yaml")}}}
	env := executortest.New(t, nil)
	s := Source{Git: gitfetch.New(cache, gitfetch.HostKeys{}), Stage: "s", Resolve: env.Resolve, Log: env.Log("x"), Places: Places(m, above)}
	fetch := func(ctx context.Context) map[string]any {
		t.Helper()
		files, err := s.Fetch(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		values, err := s.Values(ctx, m, files, above)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, slices.Sorted(maps.Keys(fetch(t.Context())))); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	checkouts := func() []string {
		t.Helper()
		var found []string
		err := filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
			switch d.Name() {
			case "unrelated":
				t.Errorf("an unrelated folder was checked out: %s", path)
			case "conf":
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := checkouts(); len(got) != 1 {
		t.Errorf("five paths cost %d fetches: %v", len(got), got)
	}
	// The repository is gone, and another step still has its files.
	if err := os.RemoveAll(filepath.Join(filepath.Dir(t.TempDir()), path.Base(git.URL))); err != nil {
		t.Fatal(err)
	}
	fetch(t.Context())
}

// What a manifest's type needs of its repository.
func TestPlaces(t *testing.T) {
	t.Parallel()
	store := task.Store{Git: &task.Git{URL: "u", Paths: []string{"app"}}}
	flag := func(f string) *origin.Chart {
		return &origin.Chart{CommandFlags: []origin.CommandFlag{{Command: origin.HelmTemplate, Flag: f}}}
	}
	for _, tt := range []struct {
		name string
		m    origin.Manifest
		want []string
	}{
		{"plain", origin.Manifest{Type: "K8sManifest", ValuesPaths: []string{"v"}}, []string{"app", "v"}},
		{"a template", origin.Manifest{Type: "OpenshiftTemplate", ParamsPaths: []string{"p"}}, []string{"app", "p"}},
		{"a kustomization with bases anywhere", origin.Manifest{Type: "Kustomize", Kustomize: &origin.Kustomize{PatchesPaths: []string{"p"}}}, []string{"app", ""}},
		{"a kustomization below its base path", origin.Manifest{Type: "Kustomize", Kustomize: &origin.Kustomize{Overlay: "o", PatchesPaths: []string{"p"}}}, []string{"app", "p"}},
		{"a chart", origin.Manifest{Type: "HelmChart", Chart: flag("--set a=b")}, []string{"app"}},
		{"a chart with files in flags", origin.Manifest{Type: "HelmChart", Chart: flag("-f a.yaml")}, []string{"app", ""}},
	} {
		tt.m.Store = store
		got := Places(&tt.m)
		if diff := cmp.Diff([]task.Git{{URL: "u", Paths: tt.want}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
