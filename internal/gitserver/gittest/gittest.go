// Package gittest is a Git host on loopback for tests, whose repositories the test
// commits to.
//
// What serves them is internal/gitserver; nothing of it is for programs.
package gittest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-cd/slipway/internal/gitserver"
)

// Repository is one repository of a host, with a work tree of the test's.
type Repository struct {
	URL string
	// Asked counts requests for the names of the repository, Fetched those for its
	// objects.
	Asked, Fetched atomic.Int32

	tb   testing.TB
	bare string
	work string
}

// New starts a host with one empty repository, whose branch is main.
func New(tb testing.TB) *Repository {
	tb.Helper()
	root := tb.TempDir()
	r := &Repository{tb: tb, bare: filepath.Join(root, "app.git"), work: filepath.Join(root, "work")}
	if err := os.Mkdir(r.work, 0o700); err != nil {
		tb.Fatal(err)
	}
	r.Git("init", "--quiet", "--bare", "--initial-branch=main", r.bare)
	r.Git("-C", r.bare, "config", "uploadpack.allowFilter", "true")
	r.Git("init", "--quiet", "--initial-branch=main")
	r.Git("remote", "add", "origin", r.bare)
	backend, err := gitserver.Handler(tb.Context(), root)
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case strings.HasSuffix(req.URL.Path, "/info/refs"):
			r.Asked.Add(1)
		case strings.HasSuffix(req.URL.Path, "/git-upload-pack"):
			r.Fetched.Add(1)
		}
		backend.ServeHTTP(w, req)
	}))
	tb.Cleanup(server.Close)
	r.URL = server.URL + "/app.git"
	return r
}

// Git runs git in the work tree and gives what it says.
func (r *Repository) Git(args ...string) string {
	r.tb.Helper()
	cmd := exec.CommandContext(r.tb.Context(), "git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		r.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// Commit writes files, commits them to main and gives the commit's id. A text that
// begins with -> is a link; an empty one removes the file.
func (r *Repository) Commit(files map[string]string) string {
	r.tb.Helper()
	for name, text := range files {
		file := filepath.Join(r.work, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o700)
		to, isLink := strings.CutPrefix(text, "->")
		switch {
		case err != nil:
		case text == "":
			err = os.RemoveAll(file)
		case isLink:
			err = os.Symlink(to, file)
		default:
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			r.tb.Fatal(err)
		}
	}
	r.Git("add", "--all", ".")
	r.Git("commit", "--quiet", "--allow-empty", "-m", "change")
	r.Git("push", "--quiet", "origin", "HEAD:main")
	return r.Git("rev-parse", "HEAD")
}

// Push gives the commit at hand to a ref, such as refs/tags/v1.
func (r *Repository) Push(ref string) {
	r.tb.Helper()
	r.Git("push", "--quiet", "--force", "origin", "HEAD:"+ref)
}

// Object writes an object of Git, such as a commit, and gives its id.
func (r *Repository) Object(kind, text string) string {
	r.tb.Helper()
	file := filepath.Join(r.tb.TempDir(), "object")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.tb.Fatal(err)
	}
	return r.Git("hash-object", "-t", kind, "-w", file)
}
