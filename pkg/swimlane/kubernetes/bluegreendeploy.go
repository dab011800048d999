package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenDeployType is the step type K8sBlueGreenDeploy: the one workload is
// deployed in the colour that doesn't serve, behind the stage service
// (semantics/kubernetes §14.2).
//
// Outputs: output.primaryServiceName, output.stageServiceName,
// output.primaryColor, output.stageColor, output.skipped,
// output.prunedResourceIds, output.releaseName and output.releaseNumber. The
// deployment is done by delegate/kubernetes, the switch by K8sBGSwapServices.
func blueGreenDeployType() step.Type {
	return step.Type{Name: string(OpBlueGreen), Deploys: true, New: decodeBlueGreenDeploy, Preview: &step.Preview{By: string(OpDiff), Part: 1}}
}

// blueGreenDeploy is the step's spec.
type blueGreenDeploy struct {
	SkipDryRun yamldoc.Field[bool]
	// SkipSame leaves everything as it is if the manifests are those of the
	// last release.
	SkipSame yamldoc.Field[bool]
	// Pruning deletes what neither colour has any more.
	Pruning yamldoc.Field[bool]
	Flags   []origin.CommandFlag
	Traffic *TrafficRouting // once the colour is steady; nil for none
}

func decodeBlueGreenDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &blueGreenDeploy{}
	d.Fields(v, document.Keys{
		"skipDryRun":                   d.Flag(&s.SkipDryRun),
		"skipDeploymentIfSameManifest": d.Flag(&s.SkipSame),
		"pruningEnabled":               d.Flag(&s.Pruning),
		"trafficRouting": func(e yamldoc.Value) {
			if !e.Null() {
				s.Traffic = traffic(d, e)
			}
		},
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpBlueGreen) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate deploy the colour that doesn't serve.
func (s *blueGreenDeploy) Start(in step.In) (step.Action, error) {
	return start(in, Spec{
		Op: OpBlueGreen, SkipDryRun: s.SkipDryRun.Value, SkipSameManifest: s.SkipSame.Value,
		Pruning: s.Pruning.Value, CommandFlags: s.Flags, Traffic: s.Traffic,
	})
}
