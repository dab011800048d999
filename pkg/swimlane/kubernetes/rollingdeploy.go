package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollingDeployType is the step type K8sRollingDeploy: the service's manifests
// are applied, and their workloads roll out as they say themselves
// (semantics/kubernetes §11).
//
// Outputs: output.releaseName, output.releaseNumber and
// output.prunedResourceIds. The deployment itself is done by
// delegate/kubernetes.
func rollingDeployType() step.Type {
	return step.Type{Name: string(OpRolling), Deploys: true, New: decodeRollingDeploy, Preview: &step.Preview{By: string(OpDiff)}}
}

// rollingDeploy is the step's spec.
type rollingDeploy struct {
	SkipDryRun yamldoc.Field[bool]
	Pruning    yamldoc.Field[bool] // what the release before had and this one hasn't is deleted
	Flags      []origin.CommandFlag
}

func decodeRollingDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &rollingDeploy{}
	d.Fields(v, document.Keys{
		"skipDryRun":        d.Flag(&s.SkipDryRun),
		"pruningEnabled":    d.Flag(&s.Pruning),
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpRolling) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate deploy.
func (s *rollingDeploy) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpRolling, SkipDryRun: s.SkipDryRun.Value, Pruning: s.Pruning.Value, CommandFlags: s.Flags})
}
