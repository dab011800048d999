// Package helmdeploy is the step type HelmDeploy: the service's chart becomes
// a Helm release, or a new revision of the one that is there (kubernetes spec
// §19.1).
//
// Outputs: output.releaseName, output.newReleaseVersion,
// output.prevReleaseVersion, output.hasInstallUpgradeStarted and
// output.containerInfoList. The deployment itself is done by delegate/helm.
package helmdeploy

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/helm"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpHelmDeploy), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	helm.Common
	IgnoreFailed   yamldoc.Field[bool] // deploys over a revision that failed
	UpgradeInstall yamldoc.Field[bool] // "helm upgrade --install", also the first time
	SkipCleanup    yamldoc.Field[bool] // leaves a first release that failed
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	for e := range r.Mapping(yamldoc.Sub(doc, "")) {
		if s.Key(e, r) {
			continue
		}
		switch e.Key {
		case "ignoreReleaseHistFailStatus":
			s.IgnoreFailed = r.Bool(e)
		case "useUpgradeInstall":
			s.UpgradeInstall = r.Bool(e)
		case "skipCleanup":
			s.SkipCleanup = r.Bool(e)
		default:
			r.Unknown(e, slices.Concat([]string{"ignoreReleaseHistFailStatus", "useUpgradeInstall", "skipCleanup"}, helm.Keys())...)
		}
	}
	return s
}

// Start has a delegate deploy.
func (s *Spec) Start(in step.In) (step.Action, error) {
	return helm.Start(in, task.Helm{
		Op: task.OpHelmDeploy, IgnoreFailedHistory: s.IgnoreFailed.Value, UpgradeInstall: s.UpgradeInstall.Value, SkipCleanup: s.SkipCleanup.Value,
		SkipSteadyState: s.SkipSteady.Value, RunTests: s.Tests.Value, CommandFlags: s.Flags, Environment: s.Environment,
	})
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
