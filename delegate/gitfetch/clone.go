package gitfetch

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Depth is how much of a repository's history a clone has.
type Depth struct {
	Commits int // the last ones; 0: all
	Tags    bool
}

// Clone makes a repository of its own in an empty folder, checked out at a branch,
// a tag or a commit of g, and gives that commit. Nothing of the credentials is in
// it. Branches are resolved as Fetch does.
func (f *Fetcher) Clone(ctx context.Context, g task.Git, stage string, depth Depth, dir string) (string, error) {
	var commit string
	err := following(ctx, g, func(g task.Git) (err error) {
		commit, err = f.clone(ctx, g, stage, depth, dir)
		return err
	})
	return commit, err
}

func (f *Fetcher) clone(ctx context.Context, g task.Git, stage string, depth Depth, dir string) (string, error) {
	r, done, err := f.access(g)
	if err != nil {
		return "", err
	}
	defer done()
	commit, err := f.commit(ctx, r, g, stage)
	if err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "init", "--quiet", "--template=", "--", dir); err != nil {
		return "", err
	}
	at := r.in(filepath.Join(dir, ".git"), "GIT_WORK_TREE="+dir)
	for _, setting := range [][2]string{{"remote.origin.url", public(g.URL)}, {"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"}} {
		if _, err := at.git(ctx, "config", setting[0], setting[1]); err != nil {
			return "", err
		}
	}
	args := []string{"fetch", "--quiet", "--no-tags"}
	if depth.Tags {
		args[2] = "--tags"
	}
	if depth.Commits > 0 {
		args = append(args, "--depth="+strconv.Itoa(depth.Commits))
	}
	// Not every host gives commits by their id: the branch's tip comes next.
	if _, err = at.git(ctx, append(args, "--", g.URL, commit)...); err != nil && ctx.Err() == nil {
		name := refName(g)
		if name == "" {
			name = "HEAD"
		}
		_, err = at.git(ctx, append(args, "--", g.URL, name)...)
	}
	if err != nil {
		return "", err
	}
	if _, err := at.git(ctx, "rev-parse", "--quiet", "--verify", commit+"^{commit}"); err != nil {
		return "", fault.New(fault.NotFound, "%s doesn't give the commit %s by its id, and %s doesn't have it among what was fetched", g.URL, commit, refName(g))
	}
	if _, err := at.git(ctx, "checkout", "--quiet", "--detach", commit); err != nil {
		return "", fmt.Errorf("check out commit %s: %w", commit, err)
	}
	return commit, nil
}

// public is a URL without who fetches from it.
func public(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil || !strings.HasPrefix(u.Scheme, "http") {
		return text
	}
	u.User = nil
	return u.String()
}
