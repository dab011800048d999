package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deployType is the step type HelmDeploy: the service's chart becomes a Helm
// release, or a new revision of the one that is there
// (semantics/kubernetes §19.1).
//
// Outputs: output.releaseName, output.newReleaseVersion,
// output.prevReleaseVersion, output.hasInstallUpgradeStarted and
// output.containerInfoList. The deployment itself is done by delegate/helm.
func deployType() step.Type {
	return step.Type{Name: string(OpDeploy), Deploys: true, New: decodeDeploy}
}

// deploy is the step's spec.
type deploy struct {
	install
	SkipCleanup yamldoc.Field[bool] // leaves a first release that failed
}

func decodeDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &deploy{}
	d.Fields(v, document.Merge(s.keys(d), document.Keys{"skipCleanup": d.Flag(&s.SkipCleanup)}))
	return s
}

// Start has a delegate deploy.
func (s *deploy) Start(in step.In) (step.Action, error) {
	t := s.payload(OpDeploy)
	t.SkipCleanup = s.SkipCleanup.Value
	return start(in, t)
}
