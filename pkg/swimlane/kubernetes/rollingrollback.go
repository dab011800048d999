package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollingRollbackType is the step type K8sRollingRollback: the workloads that
// the stage's K8sRollingDeploy changed go back to the last release that
// succeeded (semantics/kubernetes §12). Without one, or where the stage
// deployed nothing, it succeeds and changes nothing.
//
// Outputs: output.releaseName and, of the release that serves again,
// output.releaseNumber. The releases are kept in the cluster by
// delegate/kubernetes.
func rollingRollbackType() step.Type {
	return step.Type{Name: string(OpRollingRollback), Deploys: true, New: decodeRollingRollback}
}

// rollingRollback is the step's spec.
type rollingRollback struct {
	// Pruning brings back what the deployment pruned and deletes what it added.
	Pruning yamldoc.Field[bool]
	Flags   []origin.CommandFlag
}

func decodeRollingRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &rollingRollback{}
	d.Fields(v, document.Keys{
		"pruningEnabled":    d.Flag(&s.Pruning),
		"skipDryRun":        d.Flag(nil), // real documents carry it; a rollback has no dry run
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpRollingRollback) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate roll back.
func (s *rollingRollback) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpRollingRollback, Pruning: s.Pruning.Value, CommandFlags: s.Flags})
}
