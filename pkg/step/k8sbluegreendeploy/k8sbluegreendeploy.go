// Package k8sbluegreendeploy is the step type K8sBlueGreenDeploy: the one
// workload is deployed in the colour that doesn't serve, behind the stage
// service (kubernetes spec §14.2).
//
// Outputs: output.primaryServiceName, output.stageServiceName,
// output.primaryColor, output.stageColor, output.skipped,
// output.prunedResourceIds, output.releaseName and output.releaseNumber. The
// deployment is done by delegate/kubernetes, the switch by K8sBGSwapServices.
package k8sbluegreendeploy

import (
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpBlueGreen), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	SkipDryRun yamldoc.Field[bool]
	// SkipSame leaves everything as it is if the manifests are those of the
	// last release.
	SkipSame yamldoc.Field[bool]
	// Pruning deletes what neither colour has any more.
	Pruning yamldoc.Field[bool]
	Flags   []task.CommandFlag
	Traffic *task.TrafficRouting // once the colour is steady; nil for none
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	for e := range r.Mapping(yamldoc.Sub(doc, "")) {
		switch e.Key {
		case "skipDryRun":
			s.SkipDryRun = r.Bool(e)
		case "skipDeploymentIfSameManifest":
			s.SkipSame = r.Bool(e)
		case "pruningEnabled":
			s.Pruning = r.Bool(e)
		case "trafficRouting":
			if !e.Null() {
				s.Traffic = kubernetes.Traffic(r, e)
			}
		case "commandFlags":
			s.Flags = kubernetes.Flags(r, e, task.OpBlueGreen)
		case "delegateSelectors": // the plan's
			r.Strings(e)
		default:
			r.Unknown(e, "skipDryRun", "skipDeploymentIfSameManifest", "pruningEnabled", "trafficRouting", "commandFlags", "delegateSelectors")
		}
	}
	return s
}

// Start has a delegate deploy the colour that doesn't serve.
func (s *Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{
		Op: task.OpBlueGreen, SkipDryRun: s.SkipDryRun.Value, SkipSameManifest: s.SkipSame.Value,
		Pruning: s.Pruning.Value, CommandFlags: s.Flags, Traffic: s.Traffic,
	})
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
