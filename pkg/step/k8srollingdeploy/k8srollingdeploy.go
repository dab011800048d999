// Package k8srollingdeploy is the step type K8sRollingDeploy: the service's
// manifests are applied, and their workloads roll out as they say themselves
// (semantics/kubernetes §11).
//
// Outputs: output.releaseName, output.releaseNumber and
// output.prunedResourceIds. The deployment itself is done by
// delegate/kubernetes.
package k8srollingdeploy

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: string(task.OpRolling), Deploys: true, New: decode, Preview: &step.Preview{By: string(task.OpDiff)}}
}

// Spec is the step's spec.
type Spec struct {
	SkipDryRun yamldoc.Field[bool]
	Pruning    yamldoc.Field[bool] // what the release before had and this one hasn't is deleted
	Flags      []task.CommandFlag
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"skipDryRun":        d.Flag(&s.SkipDryRun),
		"pruningEnabled":    d.Flag(&s.Pruning),
		"commandFlags":      func(e yamldoc.Value) { s.Flags = kubernetes.Flags(d, e, task.OpRolling) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate deploy.
func (s *Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpRolling, SkipDryRun: s.SkipDryRun.Value, Pruning: s.Pruning.Value, CommandFlags: s.Flags})
}
