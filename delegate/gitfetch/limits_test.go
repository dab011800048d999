//go:build linux

package gitfetch_test

import (
	"crypto/rand"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// bomb commits ten folders of ten folders and so on, all the same: a few
// hundred bytes that stand for a billion files.
func (h *host) bomb(t *testing.T) {
	t.Helper()
	t.Helper()
	h.commit(t, "a: 1")
	tree := h.git(t, "rev-parse", "HEAD^{tree}")
	for range 9 {
		var list strings.Builder
		for i := range 10 {
			fmt.Fprintf(&list, "040000 tree %s\td%d\n", tree, i)
		}
		cmd := exec.CommandContext(t.Context(), "git", "mktree")
		cmd.Dir, cmd.Stdin = h.work, strings.NewReader(list.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		tree = strings.TrimSpace(string(out))
	}
	h.git(t, "update-ref", "refs/heads/main", h.git(t, "commit-tree", tree, "-m", "large", "-p", "HEAD"))
	h.git(t, "push", "--quiet", "origin", "main")
}

// noise commits a file that can't be packed.
func (h *host) noise(t *testing.T) {
	t.Helper()
	text := make([]byte, 4<<20)
	_, _ = rand.Read(text) // it never fails
	h.commit(t, string(text))
}

// A repository takes so much of the delegate and no more.
func TestRepositoriesAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most gitfetch.Limits
		fill func(h *host, t *testing.T)
	}{
		"files without number": {gitfetch.Limits{File: 1 << 30, Memory: 64 << 20}, (*host).bomb},
		"a large file":         {gitfetch.Limits{File: 1 << 20, Memory: 1 << 30}, (*host).noise},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "")
			c.fill(h, t)
			f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
			f.Limits = c.most
			g := task.Git{URL: h.url, Branch: "main"}
			if _, err := f.Fetch(t.Context(), g, "s"); !fault.Is(err, fault.TooLarge) {
				t.Errorf("it ends with %v", err)
			}
			if f.Limits.File = 64 << 20; c.most.Memory == f.Limits.File {
				return // there is no bound that takes a billion files
			}
			if _, err := f.Fetch(t.Context(), g, "s"); err != nil {
				t.Errorf("with a bound that it keeps: %v", err)
			}
		})
	}
}
