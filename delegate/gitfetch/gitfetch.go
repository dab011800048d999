// Package gitfetch brings the files of a Git commit to the delegate: shallow,
// once for each commit, whatever number of paths and steps need it.
//
// It runs the git command, which every Git host is tested with. Credentials
// go to it in its environment and in files that only this user can read,
// never in arguments or in the checkout.
package gitfetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// maxResolved bounds how many branches' commits are remembered.
const maxResolved = 1000

// Fetcher fetches into a cache folder. It is for many goroutines.
type Fetcher struct {
	dir string

	mu       sync.Mutex
	resolved map[string]string // stage, repository and branch -> commit
	busy     map[string]*sync.Mutex
}

// New makes a Fetcher over a folder, which is made when it is needed.
func New(dir string) *Fetcher {
	return &Fetcher{dir: dir, resolved: map[string]string{}, busy: map[string]*sync.Mutex{}}
}

// Files is a fetched commit.
type Files struct {
	Dir    string // the root of its files; nothing in it may be changed
	Commit string
}

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Fetch gives the files of a branch, tag or commit. A branch is resolved once
// for each stage of an execution, so that all of its steps see one commit
// (kubernetes spec §3.7).
func (f *Fetcher) Fetch(ctx context.Context, g task.Git, stage string) (Files, error) {
	run, done, err := f.access(g)
	if err != nil {
		return Files{}, err
	}
	defer done()
	commit, err := f.commit(ctx, run, g, stage)
	if err != nil {
		return Files{}, err
	}
	dir := filepath.Join(f.dir, short(g.URL), commit)
	lock := f.lock(dir)
	lock.Lock()
	defer lock.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return Files{Dir: dir, Commit: commit}, nil
	}
	if err := f.download(ctx, run, g, commit, dir); err != nil {
		return Files{}, err
	}
	return Files{Dir: dir, Commit: commit}, nil
}

func (f *Fetcher) lock(dir string) *sync.Mutex {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[dir] == nil {
		f.busy[dir] = &sync.Mutex{}
	}
	return f.busy[dir]
}

// commit resolves what is asked for to a commit's id.
func (f *Fetcher) commit(ctx context.Context, run runner, g task.Git, stage string) (string, error) {
	if commitID.MatchString(g.Commit) {
		return g.Commit, nil
	}
	name := refName(g)
	key := strings.Join([]string{stage, g.URL, name}, "\n")
	f.mu.Lock()
	known, ok := f.resolved[key]
	f.mu.Unlock()
	if ok {
		return known, nil
	}
	out, err := run(ctx, "", "ls-remote", "--", g.URL, "refs/heads/"+name, "refs/tags/"+name, "refs/tags/"+name+"^{}", head(name))
	if err != nil {
		return "", err
	}
	id := pick(out, name)
	if id == "" {
		return "", fault.New(fault.NotFound, "repository %s has no branch or tag %q", g.URL, name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.resolved) >= maxResolved {
		clear(f.resolved)
	}
	f.resolved[key] = id
	return id, nil
}

// refName is the branch or tag that is asked for; empty for the default branch.
func refName(g task.Git) string {
	if g.Commit != "" {
		return g.Commit
	}
	return g.Branch
}

func head(name string) string {
	if name == "" {
		return "HEAD"
	}
	return "refs/heads/" + name
}

// pick finds the commit in the answer of ls-remote. A branch comes before a
// tag, and an annotated tag counts by what it points to.
func pick(out, name string) string {
	found := map[string]string{}
	for line := range strings.Lines(out) {
		id, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found[ref] = id
	}
	for _, ref := range []string{head(name), "refs/tags/" + name + "^{}", "refs/tags/" + name} {
		if id := found[ref]; id != "" {
			return id
		}
	}
	return ""
}

// download fetches one commit into a new folder and moves it into place.
func (f *Fetcher) download(ctx context.Context, run runner, g task.Git, commit, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make the cache of repositories: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return fmt.Errorf("make the cache of repositories: %w", err)
	}
	defer os.RemoveAll(work)
	if _, err := run(ctx, work, "init", "--quiet"); err != nil {
		return err
	}
	// Not every host gives commits by their id: the branch's tip comes next.
	if _, err := run(ctx, work, "fetch", "--quiet", "--depth=1", "--no-tags", "--", g.URL, commit); err != nil {
		name := refName(g)
		if name == "" {
			name = "HEAD"
		}
		if _, err := run(ctx, work, "fetch", "--quiet", "--depth=1", "--no-tags", "--", g.URL, name); err != nil {
			return err
		}
	}
	if _, err := run(ctx, work, "checkout", "--quiet", commit); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(work, ".git")); err != nil {
		return fmt.Errorf("clean the checkout: %w", err)
	}
	if err := os.Rename(work, dir); err != nil {
		return fmt.Errorf("move the checkout into place: %w", err)
	}
	return nil
}

// runner runs git in a folder with the repository's credentials.
type runner func(ctx context.Context, dir string, args ...string) (string, error)

// access readies the credentials of a repository; done removes what was
// written for it.
func (f *Fetcher) access(g task.Git) (run runner, done func(), err error) {
	env := append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C")
	done = func() {}
	switch {
	case g.SSHKey != "":
		var extra []string
		if extra, done, err = sshKey(g); err != nil {
			return nil, nil, err
		}
		env = append(env, extra...)
	case g.Password != "":
		user := g.Username
		if user == "" {
			user = "git"
		}
		basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + g.Password))
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+basic)
	}
	return func(ctx context.Context, dir string, args ...string) (string, error) {
		return git(ctx, dir, env, g.URL, args)
	}, done, nil
}

// sshKey writes the key to a file that lives as long as the fetch.
func sshKey(g task.Git) (env []string, done func(), err error) {
	dir, err := os.MkdirTemp("", "slipway-ssh-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the SSH key: %w", err)
	}
	done = func() { _ = os.RemoveAll(dir) } // the system clears its temporary folder, too
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(strings.TrimSpace(g.SSHKey)+"\n"), 0o600); err != nil {
		done()
		return nil, nil, fmt.Errorf("write the SSH key: %w", err)
	}
	command := fmt.Sprintf("ssh -i %s -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=%s/known_hosts", file, dir)
	if g.SSHUser != "" {
		command += " -l " + shellQuote(g.SSHUser)
	}
	return []string{"GIT_SSH_COMMAND=" + command}, done, nil
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// git runs one command. Its errors name the repository and what git said.
func git(ctx context.Context, dir string, env []string, url string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", fault.New(fault.Unavailable, "the delegate has no git command; install git where it runs")
	}
	said := strings.TrimSpace(stderr.String())
	failure := fault.New(fault.Unavailable, "git %s of %s: %s", args[0], url, said)
	for _, denied := range []string{"Authentication failed", "could not read Username", "Permission denied", "HTTP 401", "HTTP 403"} {
		if strings.Contains(said, denied) {
			return "", failure.Causing(fault.Authentication)
		}
	}
	return "", failure.Causing(fault.Connectivity, fault.Unknown)
}

func short(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}
