package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollbackType is the step type HelmRollback: the release goes back to the last
// revision that was good before the stage deployed
// (semantics/kubernetes §19.2). Without one, or where the stage deployed
// nothing, it succeeds and changes nothing.
//
// Outputs: output.releaseName and, of what it went back to,
// output.newReleaseVersion and output.rollbackVersion. The revisions are kept
// in the cluster by Helm itself.
func rollbackType() step.Type {
	return step.Type{Name: string(OpRollback), Deploys: true, New: decodeRollback}
}

// rollback is the step's spec.
type rollback struct{ common }

func decodeRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &rollback{}
	d.Fields(v, s.keys(d))
	return s
}

// Start has a delegate roll back.
func (s *rollback) Start(in step.In) (step.Action, error) {
	return start(in, Spec{
		Op: OpRollback, SkipSteadyState: s.SkipSteady.Value, RunTests: s.Tests.Value, CommandFlags: s.Flags, Environment: s.Environment,
	})
}
