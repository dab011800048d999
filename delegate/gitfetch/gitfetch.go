// Package gitfetch brings files of a Git commit to the delegate: shallow and
// sparse, so that neither history nor other folders are fetched, and once for
// each commit and its paths, whatever number of steps need them.
//
// It runs the git command, which every Git host is tested with. Credentials
// go to it in its environment and in files that only this user can read,
// never in arguments or in the cache.
package gitfetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/diskcache"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// maxResolved bounds how many branches' commits are remembered, and how many
// repositories that can be reached.
const maxResolved = 1000

// Fetcher fetches into a cache folder. It is for many goroutines.
type Fetcher struct {
	Limits Limits

	dir   string
	hosts HostKeys
	using sync.RWMutex // read: somebody fetches; written: what is unused goes

	pruned time.Time // when that was last

	mu       sync.Mutex
	resolved map[string]string        // stage, repository and branch -> commit
	busy     map[string]chan struct{} // by repository; full while one fetches
	reached  map[string]bool          // repositories with credentials that open them
	roots    map[string]string        // commit -> its topmost folder
	trees    map[string][]Entry       // by the folder's id
	brought  map[string]int           // how often contents of a commit were fetched

	treeEntries int // of all trees
}

// Limits bound what a repository may take, in bytes: a small one can stand for
// billions of files. They hold where processes can be bounded (Unix).
type Limits struct {
	File   int64 // each file that git writes, such as what it downloads
	Memory int64 // of each process
}

// New makes a Fetcher over a folder, which is made when it is needed, and which
// nothing else uses but a Fetcher of another process.
func New(dir string, hosts HostKeys) *Fetcher {
	return &Fetcher{
		Limits: Limits{File: 2 << 30, Memory: 2 << 30},
		dir:    dir, hosts: hosts, busy: map[string]chan struct{}{},
		resolved: map[string]string{}, reached: map[string]bool{}, roots: map[string]string{}, trees: map[string][]Entry{}, brought: map[string]int{},
	}
}

// Files are fetched files of a commit.
type Files struct {
	Dir    string // the root of the repository's files; nothing in it may be changed
	Commit string
}

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Fetch gives the files of a branch, tag or commit, at g.Paths and below them;
// no paths mean all. A path that isn't there is the caller's to miss. A branch is
// resolved once for each stage of an execution, so that all of its steps see
// one commit (semantics/kubernetes §3.7).
func (f *Fetcher) Fetch(ctx context.Context, g task.Git, stage string) (Files, error) {
	var files Files
	err := following(ctx, g, func(g task.Git) (err error) {
		files, err = f.fetch(ctx, g, stage)
		return err
	})
	return files, err
}

// fetch gives the files from where they are said to be.
func (f *Fetcher) fetch(ctx context.Context, g task.Git, stage string) (Files, error) {
	r, done, err := f.access(g, sparsely(g)...)
	if err != nil {
		return Files{}, err
	}
	defer done()
	f.prune(time.Now())
	f.using.RLock()
	defer f.using.RUnlock()
	commit, err := f.commit(ctx, r, g, stage)
	if err != nil {
		return Files{}, err
	}
	paths := sparse(g.Paths)
	dir := filepath.Join(r.dir, commit+"-"+short(strings.Join(paths, "\n")))
	unlock, err := f.lock(ctx, r.dir)
	if err != nil {
		return Files{}, err
	}
	defer unlock()
	if diskcache.Use(dir) {
		return Files{Dir: dir, Commit: commit}, nil
	}
	release, err := alone(ctx, r.dir)
	if err != nil {
		return Files{}, err
	}
	defer release()
	if diskcache.Use(dir) { // another process has fetched it meanwhile
		return Files{Dir: dir, Commit: commit}, nil
	}
	err = r.bring(ctx, g, commit, paths, dir)
	if errors.Is(err, errLocked) { // by a git that was killed: no other is here
		if err := os.RemoveAll(r.objects()); err != nil {
			return Files{}, fmt.Errorf("clear the cache of repositories: %w", err)
		}
		err = r.bring(ctx, g, commit, paths, dir)
	}
	if err != nil {
		return Files{}, err
	}
	return Files{Dir: dir, Commit: commit}, nil
}

// pruneEvery is how often it is looked for what nobody uses any more.
const pruneEvery = time.Hour

// prune removes what nobody has used for a while, unless that was done lately
// or somebody fetches just now.
func (f *Fetcher) prune(now time.Time) {
	if !f.using.TryLock() {
		return
	}
	defer f.using.Unlock()
	if now.Sub(f.pruned) < pruneEvery {
		return
	}
	f.pruned = now
	repositories, err := os.ReadDir(f.dir)
	if err != nil {
		return // nothing was fetched yet, or the fetch will say what is wrong
	}
	for _, r := range repositories {
		if !r.IsDir() {
			continue // the keys of hosts
		}
		dir := filepath.Join(f.dir, r.Name())
		diskcache.Prune(dir, now)
		_ = os.Remove(dir) // which it is only when it is empty
	}
}

// lock waits until nobody else fetches the repository.
func (f *Fetcher) lock(ctx context.Context, dir string) (unlock func(), err error) {
	f.mu.Lock()
	if f.busy[dir] == nil {
		f.busy[dir] = make(chan struct{}, 1)
	}
	busy := f.busy[dir]
	f.mu.Unlock()
	select {
	case busy <- struct{}{}:
		return func() { <-busy }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// commit resolves what is asked for to a commit's id.
func (f *Fetcher) commit(ctx context.Context, r repository, g task.Git, stage string) (string, error) {
	if commitID.MatchString(g.Commit) {
		return g.Commit, f.reach(ctx, r, g)
	}
	name := refName(g)
	key := strings.Join([]string{stage, g.URL, name}, "\n")
	f.mu.Lock()
	known, ok := f.resolved[key]
	f.mu.Unlock()
	if ok {
		return known, nil
	}
	out, err := r.git(ctx, "ls-remote", "--", g.URL, "refs/heads/"+name, "refs/tags/"+name, "refs/tags/"+name+"^{}", head(name))
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

// reach checks that the credentials open the repository, unless that is known:
// what others have fetched lies here for those only who could fetch it, too.
func (f *Fetcher) reach(ctx context.Context, r repository, g task.Git) error {
	f.mu.Lock()
	known := f.reached[opened(g)]
	f.mu.Unlock()
	if known {
		return nil
	}
	if _, err := r.git(ctx, "ls-remote", "--", g.URL, "HEAD"); err != nil {
		return err
	}
	f.remember(g)
	return nil
}

// remember says that credentials open a repository.
func (f *Fetcher) remember(g task.Git) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.reached) >= maxResolved {
		clear(f.reached)
	}
	f.reached[opened(g)] = true
}

// opened names a repository with what opens it.
func opened(g task.Git) string {
	words := []string{g.URL, g.Username, g.Password, g.SSHUser, g.SSHKey, g.Token}
	if o := g.Over; o != nil {
		words = append(words, o.CAPEM, o.ClientCertPEM, o.ClientKeyPEM, strconv.FormatBool(o.Insecure), o.Proxy, o.NoProxy)
	}
	return short(strings.Join(words, "\n"))
}

// Look asks a repository for its branches, and fetches nothing.
func (f *Fetcher) Look(ctx context.Context, g task.Git) error {
	return following(ctx, g, func(g task.Git) error { return f.look(ctx, g) })
}

func (f *Fetcher) look(ctx context.Context, g task.Git) error {
	r, done, err := f.access(g)
	if err != nil {
		return err
	}
	defer done()
	_, err = r.git(ctx, "ls-remote", "--heads", "--", g.URL)
	return err
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

func short(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}
