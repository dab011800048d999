// Package gitserver serves folders as Git repositories over HTTP, by git's own
// http-backend: for the demonstration, and for samples that want a Git host.
//
// It is no Git server for anything else: what is pushed is refused.
package gitserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cgi" //nolint:gosec // the process that it starts is git's own http-backend, on loopback
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository makes a bare repository at dir with one commit of a folder's
// files on a branch.
func Repository(ctx context.Context, dir, folder, branch string) error {
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=" + branch, dir},
		{"--git-dir", dir, "config", "uploadpack.allowAnySHA1InWant", "true"},
		{"--git-dir", dir, "--work-tree", folder, "add", "."},
		{"--git-dir", dir, "--work-tree", folder, "-c", "user.name=demo", "-c", "user.email=demo@example.com", "commit", "--quiet", "-m", "Manifests"},
	} {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// Handler serves all repositories below a folder.
func Handler(ctx context.Context, root string) (http.Handler, error) {
	backend, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	}, nil
}
