package gitfetch_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/diskcache"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// host is a real Git server over HTTP with one repository.
type host struct {
	url     string
	work    string
	fetches atomic.Int32
	sent    atomic.Int64 // bytes
}

// counted counts what is sent.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// git runs git in the work tree.
func (h *host) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = h.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// commit writes a file, commits it and gives the commit's id.
func (h *host) commit(t *testing.T, text string) string {
	t.Helper()
	return h.commitAll(t, map[string]string{"app.yaml": text})
}

// commitAll does so with files; a text that begins with -> is a link.
func (h *host) commitAll(t *testing.T, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(h.work, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, isLink := strings.CutPrefix(text, "->"); isLink {
			err = os.Symlink(to, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	h.git(t, "add", ".")
	h.git(t, "commit", "--quiet", "-m", "change")
	h.git(t, "push", "--quiet", "origin", "HEAD:main")
	return h.git(t, "rev-parse", "HEAD")
}

// newHost starts a server that wants a password, if one is given.
func newHost(t *testing.T, password string) *host {
	t.Helper()
	root := t.TempDir()
	h := &host{work: filepath.Join(root, "work")}
	if err := os.Mkdir(h.work, 0o700); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(root, "app.git")
	h.git(t, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	h.git(t, "-C", bare, "config", "uploadpack.allowFilter", "true")
	h.git(t, "init", "--quiet", "--initial-branch=main")
	h.git(t, "remote", "add", "origin", bare)
	backend := &cgi.Handler{
		Path: filepath.Join(h.git(t, "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); given != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "git-upload-pack") {
			h.fetches.Add(1)
		}
		backend.ServeHTTP(counted{w, &h.sent}, r)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL + "/app.git"
	return h
}

func read(t *testing.T, f gitfetch.Files) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Dir, "app.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestABranchATagAndACommit(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	first := h.commit(t, "one")
	h.git(t, "tag", "-a", "v1", "-m", "v1")
	h.git(t, "push", "--quiet", "origin", "v1")
	second := h.commit(t, "two")
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	for _, tt := range []struct {
		name       string
		git        task.Git
		commit, is string
	}{
		{"branch", task.Git{URL: h.url, Branch: "main"}, second, "two"},
		{"default branch", task.Git{URL: h.url}, second, "two"},
		{"annotated tag", task.Git{URL: h.url, Commit: "v1"}, first, "one"},
	} {
		got, err := f.Fetch(t.Context(), tt.git, "stage")
		if err != nil || got.Commit != tt.commit || read(t, got) != tt.is {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

// semantics/kubernetes §3.7: all steps of a stage see one commit, with one
// fetch.
func TestAStageSeesOneCommit(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.commit(t, "one")
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	branch := task.Git{URL: h.url, Branch: "main"}
	fetch := func(stage string) string {
		got, err := f.Fetch(t.Context(), branch, stage)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, got)
	}
	before := fetch("a")
	asked := h.fetches.Load()
	h.commit(t, "two")
	if again := fetch("a"); before != "one" || again != "one" || h.fetches.Load() != asked {
		t.Errorf("the stage saw %q, then %q, with %d more requests", before, again, h.fetches.Load()-asked)
	}
	if other := fetch("b"); other != "two" {
		t.Errorf("the next stage saw %q", other)
	}
}

// TestWhatNobodyUsesGoes: a delegate that starts again removes commits and
// repositories that nobody has used for a while, and begins a repository anew
// that has grown for as long.
func TestWhatNobodyUsesGoes(t *testing.T) {
	t.Parallel()
	h, gone, cache := newHost(t, ""), newHost(t, ""), t.TempDir()
	long := time.Now().Add(-diskcache.Unused - time.Hour)
	f := gitfetch.New(cache, gitfetch.HostKeys{})
	fetch := func(h *host, commit, want string) string {
		t.Helper()
		got, err := f.Fetch(t.Context(), task.Git{URL: h.url, Commit: commit}, "stage")
		if err != nil || read(t, got) != want {
			t.Fatalf("%+v: %v", got, err)
		}
		return got.Dir
	}
	first, other := h.commit(t, "one"), gone.commit(t, "other")
	old, lone := fetch(h, first, "one"), fetch(gone, other, "other")
	second := h.commit(t, "two")
	used := fetch(h, second, "two")
	objects := filepath.Join(filepath.Dir(old), "objects.git")
	for _, path := range []string{old, lone, filepath.Join(filepath.Dir(lone), "objects.git"), filepath.Join(objects, "HEAD")} {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	f = gitfetch.New(cache, gitfetch.HostKeys{})
	if again := fetch(h, second, "two"); again != used {
		t.Errorf("what is used was fetched again, into %s", again)
	}
	for _, path := range []string{old, filepath.Dir(lone)} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	fetch(h, first, "one")
	if info, err := os.Stat(filepath.Join(objects, "HEAD")); err != nil || info.ModTime().Equal(long) {
		t.Errorf("the repository wasn't begun anew: %v", err)
	}
	fetch(gone, other, "other")
}

func TestWhatGoesWrongIsNamed(t *testing.T) {
	t.Parallel()
	h := newHost(t, "pa55")
	h.commit(t, "one")
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	if _, err := f.Fetch(t.Context(), task.Git{URL: h.url, Branch: "main"}, "a"); err == nil || fault.Failures(err)[0] != fault.Authentication {
		t.Errorf("without the password: %v", err)
	}
	known := task.Git{URL: h.url, Branch: "main", Username: "ann", Password: "pa55"}
	if got, err := f.Fetch(t.Context(), known, "a"); err != nil || read(t, got) != "one" {
		t.Errorf("with the password: %v", err)
	}
	known.Branch = "nope"
	if _, err := f.Fetch(t.Context(), known, "a"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), `"nope"`) || strings.Contains(err.Error(), "pa55") {
		t.Errorf("a branch that isn't there: %v", err)
	}
}

// TestWhatOthersFetchedIsTheirs: who knows a commit's id, and not the password,
// gets nothing of a private repository, whoever has fetched it before.
func TestWhatOthersFetchedIsTheirs(t *testing.T) {
	t.Parallel()
	h := newHost(t, "hunter2")
	f, commit := gitfetch.New(t.TempDir(), gitfetch.HostKeys{}), h.commit(t, "private")
	g := task.Git{URL: h.url, Commit: commit, Password: "hunter2", Paths: []string{"app.yaml"}}
	for range 2 {
		if got, err := f.Fetch(t.Context(), g, "theirs"); err != nil || read(t, got) != "private" {
			t.Fatalf("with the password: %v", err)
		}
	}
	for _, g.Password = range []string{"", "guess"} {
		if _, err := f.Fetch(t.Context(), g, "mine"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("with the password %q: %v", g.Password, err)
		}
	}
}
