package gitfetch

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Work is a repository of one's own, in which something is committed and from which
// it is pushed.
type Work struct {
	Dir string // its files

	at  repository
	url string
}

// Change does something with a clone of a repository in an empty folder. It is done
// again, in the same folder, where the repository has moved to.
func (f *Fetcher) Change(ctx context.Context, g task.Git, dir string, do func(*Work) error) error {
	return following(ctx, g, func(g task.Git) error {
		r, done, err := f.access(g)
		if err != nil {
			return err
		}
		defer done()
		if _, err := r.git(ctx, "init", "--quiet", "--template=", "--", dir); err != nil {
			return err
		}
		author := []string{
			"GIT_AUTHOR_NAME=Slipway", "GIT_AUTHOR_EMAIL=slipway@localhost", "GIT_COMMITTER_NAME=Slipway", "GIT_COMMITTER_EMAIL=slipway@localhost",
			"GIT_WORK_TREE=" + dir,
		}
		return do(&Work{Dir: dir, at: r.in(filepath.Join(dir, ".git"), author...), url: g.URL})
	})
}

// Git runs a command that speaks to nobody, in the folder's repository.
func (w *Work) Git(ctx context.Context, args ...string) (string, error) {
	return w.at.git(ctx, append([]string{"-C", w.Dir}, args...)...)
}

// Head asks for the last commit of a branch; empty: there is no such branch.
func (w *Work) Head(ctx context.Context, branch string) (string, error) {
	out, err := w.at.git(ctx, "ls-remote", "--", w.url, "refs/heads/"+branch)
	id, _, _ := strings.Cut(out, "\t")
	return strings.TrimSpace(id), err
}

// Bring fetches a branch, with so many of its last commits (0: all), and gives the
// last one.
func (w *Work) Bring(ctx context.Context, branch string, commits string) (string, error) {
	args := []string{"fetch", "--quiet", "--no-tags"}
	if commits != "" {
		args = append(args, "--depth="+commits)
	}
	if _, err := w.at.git(ctx, append(args, "--", w.url, "+refs/heads/"+branch+":refs/remotes/origin/"+branch)...); err != nil {
		return "", err
	}
	out, err := w.at.git(ctx, "rev-parse", "refs/remotes/origin/"+branch)
	return strings.TrimSpace(out), err
}

// Push gives a commit to a new branch. fault.Conflict: there is such a branch, with
// other commits.
func (w *Work) Push(ctx context.Context, commit, branch string) error {
	_, err := w.at.git(ctx, "push", "--quiet", "--", w.url, commit+":refs/heads/"+branch)
	if err != nil && (strings.Contains(err.Error(), "non-fast-forward") || strings.Contains(err.Error(), "fetch first")) {
		return fault.New(fault.Conflict, "branch %s has other commits", branch)
	}
	return err
}
