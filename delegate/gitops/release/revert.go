package release

import (
	"context"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
)

// revert makes a pull request that takes a commit back. Where nothing is left of
// it, there is none, and what is merged next isn't what was to be taken back.
func (j *job) revert(ctx context.Context) (*errand.Outcome, error) {
	commit, err := j.landed(ctx)
	if err != nil {
		return nil, err
	}
	var p *errand.PullRequest
	if commit != "" {
		p, err = j.propose(ctx, func(ctx context.Context, w *gitfetch.Work) (string, []string, error) {
			return j.reverted(ctx, w, commit)
		})
		if err != nil {
			return nil, err
		}
	}
	if p == nil {
		j.say(unitRevert, "Nothing is left to revert: there is no pull request.")
		return &errand.Outcome{}, j.keep(ctx, errand.Made(j.spec.Node), errand.PullRequest{Repository: j.spec.Git.URL})
	}
	return &errand.Outcome{Commit: p.Commit, PullRequest: link(*p), Branch: p.Branch, Files: p.Files}, nil
}

// landed is the commit that is taken back, as the target has it: of a pull request of
// the stage what its merge has made; empty: it wasn't merged.
func (j *job) landed(ctx context.Context) (string, error) {
	made, nodes, merged, err := j.kept(ctx)
	if err != nil {
		return "", err
	}
	for i, p := range made {
		if p.Number > 0 && sameCommit(p.Commit, j.spec.Commit) {
			return merged[nodes[i]].Merged, nil
		}
	}
	return j.spec.Commit, nil
}

// reverted pushes a branch without what a commit has changed; empty: the target has
// nothing of it.
func (j *job) reverted(ctx context.Context, w *gitfetch.Work, commit string) (string, []string, error) {
	base, err := w.Bring(ctx, j.spec.Git.Branch, "")
	if err != nil {
		return "", nil, err
	}
	j.say(unitFetch, "Branch %s is at commit %s", j.spec.Git.Branch, base)
	parents, err := w.Git(ctx, "rev-list", "--parents", "--max-count=1", commit, "--")
	if err != nil {
		return "", nil, fault.New(fault.NotFound, "commit %s isn't in branch %s, nor was it made by a step of the stage", commit, j.spec.Git.Branch)
	}
	if _, err := w.Git(ctx, "checkout", "--quiet", "--force", "--detach", base); err != nil {
		return "", nil, err
	}
	args := []string{"revert", "--no-commit"}
	if len(strings.Fields(parents)) > 2 { // a merge: what it brought to the target
		args = append(args, "--mainline", "1")
	}
	if _, err := w.Git(ctx, append(args, commit)...); err != nil {
		if files, again := names(ctx, w, "diff", "--name-only", "--diff-filter=U", "-z"); again == nil && len(files) > 0 {
			return "", nil, fault.New(fault.Conflict, "what came after commit %s conflicts with its revert, in %s", commit, strings.Join(files, ", "))
		}
		return "", nil, err
	}
	files, err := names(ctx, w, "diff", "--cached", "--name-only", "-z")
	if err != nil || len(files) == 0 {
		return "", nil, err
	}
	j.say(unitRevert, "Reverted commit %s in %s", commit, strings.Join(files, ", "))
	done, err := j.commit(ctx, w, j.spec.Title)
	return done, files, err
}
