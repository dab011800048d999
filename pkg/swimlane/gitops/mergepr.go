package gitops

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// mergePRType is the step type MergePR: the newest pull request of the stage that
// isn't merged yet is merged, as soon as its host lets it be (semantics/gitops §17).
//
// Outputs: mergePROutcome.commitId, .pullRequest.number and .pullRequest.url. The
// work is done by delegate/gitops/release.
func mergePRType() step.Type {
	return step.Type{Name: string(errand.OpMerge), Service: true, Looks: true, New: decodeMerge, Finish: step.Finisher((*merge).finish)}
}

// merge is the step's spec.
type merge struct {
	Delete   yamldoc.Field[bool]
	Strategy yamldoc.Field[string]
}

func decodeMerge(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &merge{}
	d.Fields(v, document.Keys{
		"deleteSourceBranch":  d.Flag(&s.Delete),
		"mergeStrategy":       d.Word(&s.Strategy, "merge", "squash"),
		"disableGitRestraint": d.Idle(unrestrained, d.Flag(nil)),
		"variables":           d.Refuse("beside mergeStrategy and deleteSourceBranch, options of the Git host (variables) aren't supported"),
		"delegateSelectors":   d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate merge it.
func (s *merge) Start(in step.In) (step.Action, error) {
	return release(in, errand.Release{Op: errand.OpMerge, Merge: &errand.Merge{Squash: s.Strategy.Value == "squash", Delete: s.Delete.Value}})
}

// finish says in the step's message what was merged.
func (s *merge) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	return told(r, func(out errand.Released) string {
		if out.Merge == nil || out.Merge.PullRequest == nil {
			return "there is no pull request to merge"
		}
		return fmt.Sprintf("merged pull request %d as %s", out.Merge.PullRequest.Number, out.Merge.Commit)
	})
}
