package chart_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// A chart in Git may depend on one beside it; what it doesn't depend on isn't
// fetched.
func TestADependencyBesideAChartInGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"charts/app/Chart.yaml":         "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: near, version: 0.1.0, repository: \"file://../near\"}]\n",
		"charts/app/templates/c.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n",
		"charts/near/Chart.yaml":        "apiVersion: v2\nname: near\nversion: 0.1.0\n",
		"charts/near/templates/c.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: near}\n",
		"charts/other/Chart.yaml":       "apiVersion: v2\nname: other\nversion: 0.1.0\n",
		"charts/other/templates/c.yaml": "a: b\n",
	})
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "."}, {"commit", "--quiet", "-m", "charts"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	m := &origin.Manifest{
		ID: "app", Type: "HelmChart", Chart: &origin.Chart{},
		Store: task.Store{Git: &task.Git{URL: testservers.Git(t, dir), Branch: "main", Paths: []string{"charts/app"}}},
	}
	from := manifest.Source{Git: gitfetch.New(t.TempDir(), gitfetch.HostKeys{}), Stage: "a", Log: io.Discard, Places: manifest.Places(m)}
	files, err := chart.NewRepos(t.TempDir()).Fetch(t.Context(), from, m, origin.HelmFlags{})
	check(t, err)
	if got := load(t, m, files); len(got.Dependencies()) != 1 {
		t.Errorf("the chart has %d dependencies; want the one beside it", len(got.Dependencies()))
	}
	if _, err := os.Stat(filepath.Join(files.Root, "charts/other")); err == nil {
		t.Error("a chart that nothing needs was fetched")
	}
}
