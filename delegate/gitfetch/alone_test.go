package gitfetch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A git that was killed leaves its lock files, which keep nobody out.
func TestLocksOfTheKilled(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"shallow.lock", "config.lock", "refs/slipway/COMMIT.lock"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "")
			f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
			fetch := func(commit, want string) string {
				t.Helper()
				got, err := f.Fetch(t.Context(), task.Git{URL: h.url, Commit: commit}, "stage")
				if err != nil || read(t, got) != want {
					t.Fatalf("%+v: %v", got, err)
				}
				return got.Dir
			}
			one := fetch(h.commit(t, "one"), "one")
			second := h.commit(t, "two")
			left := filepath.Join(filepath.Dir(one), "objects.git", strings.Replace(lock, "COMMIT", second, 1))
			if err := os.WriteFile(left, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			fetch(second, "two")
			fetch(h.commit(t, "three"), "three")
		})
	}
}

// Delegates of one name share a folder while one of them stops: each gets the
// files that it asks for.
func TestProcessesShareAFolder(t *testing.T) {
	t.Parallel()
	h, cache := newHost(t, ""), t.TempDir()
	const processes = 4
	commits := make([]string, processes)
	for i := range commits {
		commits[i] = h.commitAll(t, map[string]string{fmt.Sprintf("%d/app.yaml", i): fmt.Sprint(i)})
	}
	var all sync.WaitGroup
	for i, commit := range commits {
		all.Go(func() {
			path := fmt.Sprintf("%d/app.yaml", i)
			got, err := gitfetch.New(cache, gitfetch.HostKeys{}).Fetch(t.Context(), task.Git{URL: h.url, Commit: commit, Paths: []string{path}}, "stage")
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(filepath.Join(got.Dir, path)); err != nil || string(text) != fmt.Sprint(i) {
				t.Errorf("%s is %q: %v", path, text, err)
			}
		})
	}
	all.Wait()
}
