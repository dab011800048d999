package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// canaryDeleteType is the step type HelmCanaryDelete: the Helm release of the
// canary is uninstalled (semantics/kubernetes §19.4). Where there is none it
// succeeds and changes nothing.
//
// Outputs: output.releaseName and output.canaryRelease. It is done by
// delegate/helm; the release that serves is never touched.
func canaryDeleteType() step.Type {
	return step.Type{Name: string(OpCanaryDelete), Deploys: true, New: decodeCanaryDelete}
}

// canaryDelete is the step's spec.
type canaryDelete struct {
	Flags []origin.CommandFlag // of "helm uninstall"
}

func decodeCanaryDelete(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &canaryDelete{}
	d.Fields(v, document.Keys{
		"commandFlags":      kubernetes.HelmCommandFlags(d, &s.Flags),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate uninstall the canary.
func (s *canaryDelete) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpCanaryDelete, CommandFlags: s.Flags})
}
