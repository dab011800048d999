package gitfetch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A clone is a repository of its own: with as much history as was asked for, at
// the commit, and without the password.
func TestClone(t *testing.T) {
	t.Parallel()
	h := newHost(t, "pa55")
	h.git(t, "config", "http.extraHeader", "Authorization: Basic Z2l0OnBhNTU=")
	first := h.commit(t, "one")
	h.git(t, "tag", "-a", "v1", "-m", "v1")
	h.git(t, "push", "--quiet", "origin", "v1")
	h.commit(t, "two")
	last := h.commit(t, "three")
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	for name, c := range map[string]struct {
		git         task.Git
		depth       gitfetch.Depth
		commit, has string
		commits     string
		tags        string
	}{
		"a branch":           {task.Git{Branch: "main"}, gitfetch.Depth{Commits: 50}, last, "three", "3", ""},
		"the default branch": {task.Git{}, gitfetch.Depth{Commits: 1}, last, "three", "1", ""},
		"a tag":              {task.Git{Commit: "v1"}, gitfetch.Depth{}, first, "one", "1", ""},
		"tags, too":          {task.Git{Branch: "main"}, gitfetch.Depth{Tags: true}, last, "three", "3", "v1"},
		"a commit":           {task.Git{Commit: last}, gitfetch.Depth{Commits: 2}, last, "three", "2", ""},
	} {
		c.git.URL, c.git.Password = h.url, "pa55"
		dir := t.TempDir()
		commit, err := f.Clone(t.Context(), c.git, "stage", c.depth, dir)
		if err != nil || commit != c.commit {
			t.Errorf("%s: %s, %v; want %s", name, commit, err, c.commit)
			continue
		}
		git := func(args ...string) string {
			t.Helper()
			out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).Output()
			if err != nil {
				t.Errorf("%s: git %v: %v", name, args, err)
			}
			return strings.TrimSpace(string(out))
		}
		text, err := os.ReadFile(filepath.Join(dir, "app.yaml"))
		if err != nil || string(text) != c.has {
			t.Errorf("%s: the file has %q, %v", name, text, err)
		}
		if n, tags, changed := git("rev-list", "--count", "HEAD"), git("tag"), git("status", "--porcelain"); n != c.commits || tags != c.tags || changed != "" {
			t.Errorf("%s: %s commits, tags %q, changed %q", name, n, tags, changed)
		}
		if config, err := os.ReadFile(filepath.Join(dir, ".git", "config")); err != nil || strings.Contains(string(config), "pa55") || strings.Contains(string(config), "Basic") || !strings.Contains(string(config), h.url) {
			t.Errorf("%s: the configuration has %s, %v", name, config, err)
		}
	}
	if _, err := f.Clone(t.Context(), task.Git{URL: h.url, Password: "pa55", Branch: "nope"}, "stage", gitfetch.Depth{}, t.TempDir()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a branch that isn't there: %v", err)
	}
}
