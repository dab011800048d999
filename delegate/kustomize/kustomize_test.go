package kustomize_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/kustomize"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// repository is a base with a component and an overlay.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"app/base/kustomization.yaml":      "resources: [web.yaml]\nnamePrefix: acme-\n",
		"app/base/web.yaml":                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: base, b: base}\n",
		"app/extra/kustomization.yaml":     "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- {patch: '[{\"op\": \"add\", \"path\": \"/data/c\", \"value\": \"component\"}]', target: {kind: ConfigMap}}\n",
		"app/over/prod/kustomization.yaml": "resources: [../../base]\ncomponents: [../../extra]\npatchesStrategicMerge: [own.yaml]\nconfigMapGenerator: [{name: made, literals: [x=1]}]\n",
		"app/over/prod/own.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: acme-web}\ndata: {a: own}\n",
		"app/far/kustomization.yaml":       "resources: [../base/web.yaml]\n",
		"plain.yaml":                       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestBuild(t *testing.T) {
	t.Parallel()
	patch := func(key string) manifest.File {
		return manifest.File{Name: key, Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: acme-web}\ndata: {" + key + ": patched}\n"}
	}
	anyPlace := []origin.CommandFlag{{Command: "Build", Flag: "--load-restrictor LoadRestrictionsNone"}}
	tests := []struct {
		name, folder, overlay, path string
		patches                     []manifest.File
		flags                       []origin.CommandFlag
		has, hasnt                  []string
		err                         string
	}{
		{name: "a folder", folder: "app/base", has: []string{"name: acme-web", "a: base"}},
		{name: "an overlay with a component, and a generator", folder: "app", overlay: "over/prod", has: []string{"a: own", "b: base", "c: component", "name: made-"}},
		{name: "patches take the place of the overlay's", folder: "app", overlay: "over/prod", patches: []manifest.File{patch("b")}, has: []string{"a: base", "b: patched", "c: component"}},
		{name: "several, the last wins", folder: "app/over/prod", patches: []manifest.File{patch("b"), {Name: "z", Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: acme-web}\ndata: {b: last}\n"}}, has: []string{"b: last"}},
		{name: "another folder of the repository", folder: "app/over/prod", path: "app/base", has: []string{"a: base"}, hasnt: []string{"made"}},
		{name: "the overlay by its name", folder: "app", overlay: "over/prod", path: "over/prod", has: []string{"a: own"}},
		{name: "files from outside", folder: "app/far", err: "security"},
		{name: "files from outside, by a flag", folder: "app/far", flags: anyPlace, has: []string{"name: web"}},
		{name: "no kustomization", folder: "app", err: "kustomiz"},
		{name: "no kustomization to patch", folder: "app", patches: []manifest.File{patch("a")}, err: "no kustomization.yaml"},
		{name: "no folder", folder: "app", overlay: "none", err: `kustomizeYamlFolderPath "none"`},
		{name: "a patch of nothing", folder: "app/base", patches: []manifest.File{{Name: "p", Text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none}\n"}}, err: "no matches"},
		{name: "helm", folder: "app/base", flags: []origin.CommandFlag{{Command: "Build", Flag: "--enable-helm"}}, err: "unknown flag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := repository(t)
			m := &origin.Manifest{ID: "k", Kustomize: &origin.Kustomize{Overlay: tt.overlay, CommandFlags: tt.flags}}
			b := kustomize.Builder{Dir: func() (string, error) { return t.TempDir(), nil }}
			got, err := b.Build(m, manifest.Files{Root: root, Folder: filepath.Join(root, tt.folder)}, tt.path, tt.patches)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v; want an error about %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.has {
				if !strings.Contains(got, want) {
					t.Errorf("built\n%s\nwithout %q", got, want)
				}
			}
			for _, not := range tt.hasnt {
				if strings.Contains(got, not) {
					t.Errorf("built\n%s\nwith %q", got, not)
				}
			}
			if left, err := filepath.Glob(filepath.Join(root, "app/*/slipway-patch*")); err != nil || len(left) > 0 {
				t.Errorf("patches were written into the fetched repository: %v", left)
			}
		})
	}
}
