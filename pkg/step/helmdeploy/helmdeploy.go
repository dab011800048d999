// Package helmdeploy is the step type HelmDeploy: the service's chart becomes
// a Helm release, or a new revision of the one that is there
// (semantics/kubernetes §19.1).
//
// Outputs: output.releaseName, output.newReleaseVersion,
// output.prevReleaseVersion, output.hasInstallUpgradeStarted and
// output.containerInfoList. The deployment itself is done by delegate/helm.
package helmdeploy

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/helm"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpHelmDeploy), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	helm.Install
	SkipCleanup yamldoc.Field[bool] // leaves a first release that failed
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{"skipCleanup": d.Flag(&s.SkipCleanup)}))
	return s
}

// Start has a delegate deploy.
func (s *Spec) Start(in step.In) (step.Action, error) {
	t := s.Payload(task.OpHelmDeploy)
	t.SkipCleanup = s.SkipCleanup.Value
	return helm.Start(in, t)
}
