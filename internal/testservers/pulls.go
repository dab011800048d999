package testservers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/internal/gitserver"
)

// PullHost plays the pull requests of GitHub, GitLab, Azure Repos and Bitbucket Cloud,
// as far as their public descriptions say what is used of them, with a real bare
// repository behind: what is merged there is merged. Requests need the token.
type PullHost struct {
	URL   string // of the host
	Token string
	Bare  string // the repository's folder, team/app.git

	// Blocked says that pull requests can't be merged yet.
	Blocked func() bool
	// Fail answers requests of a method to the API with a status, so often.
	mu    sync.Mutex
	fails map[string]int
	pulls []*pulled
	tb    testing.TB
}

// pulled is a pull request.
type pulled struct {
	number             int
	head, base, commit string
	state              string // open, merged, closed
}

// Pulls starts a host with the repository team/app, whose branch main has one commit
// of the given files.
func Pulls(tb testing.TB, files map[string]string) *PullHost {
	tb.Helper()
	root := tb.TempDir()
	h := &PullHost{Token: "letmein", Bare: filepath.Join(root, "team", "app.git"), tb: tb, fails: map[string]int{}, Blocked: func() bool { return false }}
	folder := tb.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	if err := gitserver.Repository(tb.Context(), h.Bare, folder, "main"); err != nil {
		tb.Fatal(err)
	}
	h.Git("config", "http.receivepack", "true")
	backend, err := gitserver.Handler(tb.Context(), root)
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/team/app.git/", backend)
	h.github(mux)
	h.gitlab(mux)
	h.azure(mux, backend)
	h.bitbucket(mux)
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	h.URL = server.URL
	return h
}

// Git runs git in the bare repository and gives what it says.
func (h *PullHost) Git(args ...string) string {
	h.tb.Helper()
	out, err := h.try(args...)
	if err != nil {
		h.tb.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func (h *PullHost) try(args ...string) (string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(h.tb.Context()), "git", args...)
	cmd.Dir = h.Bare
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=host", "GIT_AUTHOR_EMAIL=host@example.com", "GIT_COMMITTER_NAME=host", "GIT_COMMITTER_EMAIL=host@example.com")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return strings.TrimSpace(string(out) + said.String()), err
	}
	return strings.TrimSpace(string(out)), nil
}

// File is a file of the last commit of a branch.
func (h *PullHost) File(branch, name string) string { return h.Git("show", branch+":"+name) }

// Count is how many pull requests there are.
func (h *PullHost) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pulls)
}

// FailNext has the next request of a method to the API fail.
func (h *PullHost) FailNext(method string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails[method]++
}

// Merge merges a pull request as a person does; Close closes it.
func (h *PullHost) Merge(number int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if why := h.merge(h.pulls[number-1], false); why != "" {
		h.tb.Error(why)
	}
}

// Close closes a pull request without a merge.
func (h *PullHost) Close(number int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pulls[number-1].state = "closed"
}

// api is a handler behind the token.
func (h *PullHost) api(do func(r *http.Request) (int, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if password != h.Token && r.Header.Get("Authorization") != "Bearer "+h.Token {
			http.Error(w, `{"message": "Bad credentials"}`, http.StatusUnauthorized)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.fails[r.Method] > 0 {
			h.fails[r.Method]--
			http.Error(w, `{"message": "the host is down"}`, http.StatusInternalServerError)
			return
		}
		status, out := do(r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if out != nil {
			if err := json.NewEncoder(w).Encode(out); err != nil {
				h.tb.Error(err)
			}
		}
	}
}

// body reads a request's JSON.
func (h *PullHost) body(r *http.Request) map[string]any {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		h.tb.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	return in
}

func text(in map[string]any, keys ...string) string {
	for _, key := range keys[:len(keys)-1] {
		in, _ = in[key].(map[string]any)
	}
	s, _ := in[keys[len(keys)-1]].(string)
	return s
}

// open makes a pull request; nil: the branch has one, or doesn't exist.
func (h *PullHost) open(head, base string) *pulled {
	if slices.ContainsFunc(h.pulls, func(p *pulled) bool { return p.state == "open" && p.head == head && p.base == base }) {
		return nil
	}
	if _, err := h.try("rev-parse", "--verify", "refs/heads/"+head); err != nil {
		return nil
	}
	p := &pulled{number: len(h.pulls) + 1, head: head, base: base, state: "open"}
	h.pulls = append(h.pulls, p)
	return p
}

func (h *PullHost) of(r *http.Request) *pulled {
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 || n > len(h.pulls) {
		return &pulled{state: "closed"}
	}
	return h.pulls[n-1]
}

// tip is the last commit of a branch.
func (h *PullHost) tip(branch string) string {
	out, err := h.try("rev-parse", "--verify", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return out
}

// conflicts says whether a pull request can't be merged as it is.
func (h *PullHost) conflicts(p *pulled) bool {
	_, err := h.try("merge-tree", "--write-tree", p.base, p.head)
	return err != nil
}

// merge merges; what it gives says why not.
func (h *PullHost) merge(p *pulled, squash bool) string {
	tree, err := h.try("merge-tree", "--write-tree", p.base, p.head)
	if err != nil {
		return "conflicts: " + tree
	}
	tree, _, _ = strings.Cut(tree, "\n")
	base := h.tip(p.base)
	args := []string{"commit-tree", tree, "-p", base, "-m", fmt.Sprintf("Merge pull request #%d", p.number)}
	if !squash {
		args = append(args, "-p", h.tip(p.head))
	}
	commit, err := h.try(args...)
	if err == nil {
		_, err = h.try("update-ref", "refs/heads/"+p.base, commit, base)
	}
	if err != nil {
		return err.Error() + commit
	}
	p.state, p.commit = "merged", commit
	return ""
}

func (h *PullHost) drop(branch string) int {
	if _, err := h.try("update-ref", "-d", "refs/heads/"+branch); err != nil || branch == "" {
		return http.StatusNotFound
	}
	return http.StatusNoContent
}

// found are the pull requests of a branch for another, the newest first.
func (h *PullHost) found(head, base string, show func(*pulled) any) []any {
	out := []any{}
	for _, p := range slices.Backward(h.pulls) {
		if p.head == head && p.base == base {
			out = append(out, show(p))
		}
	}
	return out
}
