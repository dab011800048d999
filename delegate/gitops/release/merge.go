package release

import (
	"context"

	"github.com/slipway-cd/slipway/delegate/githost"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
)

// merge merges the newest pull request of the stage that isn't merged yet.
func (j *job) merge(ctx context.Context) (*errand.Outcome, error) {
	made, nodes, merged, err := j.kept(ctx)
	if err != nil {
		return nil, err
	}
	for i, p := range made {
		_, done := merged[nodes[i]]
		if !done && p.Number == 0 { // what it took back isn't to be merged in its place
			j.say(unitMerge, "Nothing was left to revert; there is nothing to merge.")
			return &errand.Outcome{}, nil
		}
		if !done {
			return j.mergeOne(ctx, nodes[i], p)
		}
	}
	if len(made) > 0 { // by this step before its delegate was lost, or by a wait
		p := merged[nodes[0]]
		j.say(unitMerge, "Pull request %d is merged", p.Number)
		return &errand.Outcome{Commit: p.Merged, PullRequest: link(p)}, nil
	}
	j.say(unitMerge, "No step before this one has made a pull request; there is nothing to merge.")
	return &errand.Outcome{}, nil
}

// mergeOne merges a pull request as soon as it can be.
func (j *job) mergeOne(ctx context.Context, node string, p errand.PullRequest) (*errand.Outcome, error) {
	for told := ""; ; {
		pull, err := j.host.Get(ctx, p.Number)
		switch {
		case err != nil:
			return nil, err
		case pull.State == githost.Merged && pull.Commit != "":
			return j.isMerged(ctx, node, p, pull)
		case pull.State == githost.Closed:
			return nil, fault.New(fault.Conflict, "pull request %d was closed, and not merged", p.Number)
		case pull.Conflict:
			return nil, fault.New(fault.Conflict, "pull request %d can't be merged: %s", p.Number, pull.Why)
		case pull.Ready:
			if pull.Head != "" && pull.Head != p.Commit && !sameCommit(pull.Head, p.Commit) {
				return nil, fault.New(fault.Conflict, "pull request %d has commit %s by now; the step has made %s", p.Number, pull.Head, p.Commit)
			}
			err = j.host.Merge(ctx, p.Number, githost.Way{Squash: j.spec.Merge.Squash, Delete: j.spec.Merge.Delete, Head: p.Commit, Branch: p.Branch})
			if err == nil {
				told = ""
				if pull, err = j.host.Get(ctx, p.Number); err == nil && pull.State == githost.Merged && pull.Commit != "" {
					return j.isMerged(ctx, node, p, pull)
				}
			}
			if err != nil {
				if !githost.NotYet(err) {
					return nil, fault.Wrap(err, "merge pull request %d", p.Number)
				}
				pull.Why = err.Error()
			}
		}
		if pull.Why != told {
			told = pull.Why
			j.say(unitMerge, "Pull request %d can't be merged yet: %s", p.Number, told)
		}
		if err := j.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// sameCommit says whether one name of a commit is the beginning of the other.
func sameCommit(a, b string) bool {
	n := min(len(a), len(b))
	return n >= 7 && a[:n] == b[:n]
}

// isMerged keeps what was merged, and deletes the branch if that is wanted.
func (j *job) isMerged(ctx context.Context, node string, p errand.PullRequest, pull githost.Pull) (*errand.Outcome, error) {
	p.Merged = pull.Commit
	j.say(unitMerge, "Pull request %d is merged as %s", p.Number, p.Merged)
	if err := j.keep(ctx, errand.Merged(node), p); err != nil {
		return nil, err
	}
	if j.spec.Merge.Delete {
		if err := j.host.Delete(ctx, p.Branch); err != nil { // the merge counts
			j.say(unitMerge, "Branch %s can't be deleted: %v", p.Branch, err)
		}
	}
	return &errand.Outcome{Commit: p.Merged, PullRequest: link(p)}, nil
}
