package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// put makes files below a folder; a text of "-> path" makes a link.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if to, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(to, at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A link counts as what it leads to, if that is in the repository.
func TestReadPath(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	put(t, outside, map[string]string{"secret.yaml": "secret"})
	for _, tt := range []struct {
		name  string
		files map[string]string
		at    string
		want  map[string]string // place -> text
		err   string
	}{
		{"files", map[string]string{"app/a.yaml": "a", "app/sub/b.yml": "b", "app/README": "no", "other.yaml": "no"}, "app", map[string]string{"app/a.yaml": "a", "app/sub/b.yml": "b"}, ""},
		{"a folder that is a link", map[string]string{"v2/a.yaml": "a", "v2/sub/b.yaml": "b", "v2/values.yaml": "v", "app": "-> v2"}, "app", map[string]string{"app/a.yaml": "a", "app/sub/b.yaml": "b", "app/values.yaml": "v"}, ""},
		{"a link on the way", map[string]string{"v2/app/a.yaml": "a", "now": "-> v2"}, "now/app", map[string]string{"now/app/a.yaml": "a"}, ""},
		{"a file that is a link", map[string]string{"v2/a.yaml": "a", "a.yaml": "-> v2/a.yaml"}, "a.yaml", map[string]string{"a.yaml": "a"}, ""},
		{"links to files", map[string]string{"conf/all.txt": "a", "app/a.yaml": "-> ../conf/all.txt", "app/values.yaml": "-> a.yaml"}, "app", map[string]string{"app/a.yaml": "a", "app/values.yaml": "a"}, ""},
		{"a link to a folder", map[string]string{"base/a.yaml": "a", "app/base": "-> ../base", "app/b.yaml": "b"}, "app", map[string]string{"app/base/a.yaml": "a", "app/b.yaml": "b"}, ""},
		{"links that nobody reads", map[string]string{"app/a.yaml": "a", "app/gone": "-> nowhere", "app/hosts": "-> /etc/hosts"}, "app", map[string]string{"app/a.yaml": "a"}, ""},
		{"a folder that is a link out", map[string]string{"app": "-> " + outside}, "app", nil, "leads out of the repository"},
		{"a link to a file outside", map[string]string{"app/a.yaml": "-> " + outside + "/secret.yaml"}, "app", nil, "leads out of the repository"},
		{"a link to a folder outside", map[string]string{"app/a.yaml": "a", "app/sub": "-> " + outside}, "app", nil, "leads out of the repository"},
		{"a link that leads nowhere", map[string]string{"app/a.yaml": "-> nowhere"}, "app", nil, "a.yaml is a link that leads nowhere"},
		{"a circle", map[string]string{"app/a.yaml": "a", "app/sub/up": "-> ../.."}, "app", nil, "lead in a circle, at sub/up/app"},
		{"no YAML", map[string]string{"app/README": "no"}, "app", nil, "the folder has no YAML files"},
		{"nothing", nil, "app", nil, "no such file or folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			put(t, root, tt.files)
			files, values, err := readPath(root, tt.at)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, %v; want an error about %s", files, err, tt.err)
				}
				return
			}
			got := map[string]string{}
			for _, f := range append(files, values...) {
				got[f.Place] = f.Text
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v; files (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Links of a commit bring what they lead to, and a manifest without files
// isn't deployed as one that is empty.
func TestFetchFollowsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"v2/a.yaml": "kind: A", "app": "-> v2", "shared/c.yaml": "kind: C", "one/c.yaml": "-> ../shared/c.yaml",
		"docs/README": "no", "defaults/values.yaml": "a: 1", "unrelated/x.yaml": "x",
	})
	git := commit(t, dir)
	env := executortest.New(t, nil)
	s := Source{Git: gitfetch.New(t.TempDir(), gitfetch.HostKeys{}), Stage: "s", Log: env.Log("x")}
	fetch := func(paths ...string) ([]string, error) {
		at := git
		at.Paths = paths
		files, err := s.Fetch(t.Context(), &origin.Manifest{ID: "m", Type: "K8sManifest", Store: task.Store{Git: &at}})
		var got []string
		for _, f := range files.Manifests {
			got = append(got, f.Text)
		}
		return got, err
	}
	got, err := fetch("app", "one", "defaults")
	if diff := cmp.Diff([]string{"kind: A", "kind: C"}, got); err != nil || diff != "" {
		t.Errorf("%v; manifests (-want +got):\n%s", err, diff)
	}
	for _, path := range []string{"docs", "defaults"} {
		if _, err := fetch(path); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s, which has no manifests, gave %v", path, err)
		}
	}
	stored := fileStore(t, map[string]string{"/docs/README": "no", "/defaults/values.yaml": "a: 1"})
	for _, path := range []string{"/docs", "/defaults"} {
		m := &origin.Manifest{ID: "m", Type: "K8sManifest", Store: task.Store{Files: &task.FileStore{Paths: []string{path}}}}
		if _, err := stored.Fetch(t.Context(), m); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of the file store, which has no manifests, gave %v", path, err)
		}
	}
}
