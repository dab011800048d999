package gitops

import (
	"fmt"
	"regexp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// revertPRType is the step type RevertPR: a commit is taken back, on a branch with a
// pull request, which MergePR merges (semantics/gitops §17).
//
// Outputs: revertPROutcome.commitId, .pullRequest.number, .pullRequest.url, .branch
// and .files. The work is done by delegate/gitops/release.
func revertPRType() step.Type {
	return step.Type{Name: string(errand.OpRevert), Service: true, Looks: true, New: decodeRevert, Finish: step.Finisher((*revert).finish)}
}

// revert is the step's spec.
type revert struct {
	Commit, Title yamldoc.Field[string]
}

// commitID is the name of a commit, or its beginning.
var commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

func decodeRevert(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &revert{}
	d.Fields(v, document.Keys{
		"commitId":            d.Text(&s.Commit),
		"prTitle":             d.Text(&s.Title),
		"disableGitRestraint": d.Idle(unrestrained, d.Flag(nil)),
		"delegateSelectors":   d.Words(nil), // the plan's
	})
	d.Need(v, "commitId")
	if text := s.Commit.Value; text != "" && !commitID.MatchString(text) {
		d.Errorf(document.Child(v, "commitId"), document.WrongValue, "found %q; want the name of a commit, such as the commitId of a %s or a %s", text, errand.OpUpdate, errand.OpMerge)
	}
	return s
}

// Start has a delegate take it back. A release that changed nothing has no commit.
func (s *revert) Start(in step.In) (step.Action, error) {
	commit := step.Text(s.Commit)
	if commit == "" {
		return step.Action{Done: &plan.Outcome{Status: plan.Success, Message: "there is no commit to revert"}}, nil
	}
	if !commitID.MatchString(commit) {
		return step.Action{}, fault.New(fault.Invalid, "commitId is %q; want the name of a commit", commit)
	}
	title := step.Text(s.Title)
	if title == "" {
		title = "Harness: Reverting commit " + commit
	}
	return release(in, errand.Release{Op: errand.OpRevert, Title: title, Branch: branch(in), Node: string(in.Node), Commit: commit})
}

// finish says in the step's message which pull request there is.
func (s *revert) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	return told(r, func(out errand.Released) string {
		if out.Revert == nil || out.Revert.PullRequest == nil {
			return "nothing is left to revert, so there is no pull request"
		}
		return fmt.Sprintf("pull request %d reverts it in %d files: %s", out.Revert.PullRequest.Number, len(out.Revert.Files), out.Revert.PullRequest.URL)
	})
}
