package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// swapServicesType is the step type K8sBGSwapServices: the primary and the
// stage service of the stage's K8sBlueGreenDeploy exchange their colours
// (semantics/kubernetes §14.3). In a rollback they do so only if they have been
// exchanged before.
//
// Outputs: output.primaryServiceName, output.stageServiceName and
// output.releaseName. The selectors are changed by delegate/kubernetes.
func swapServicesType() step.Type {
	return step.Type{Name: string(OpSwap), Deploys: true, New: decodeSwapServices}
}

// swapServices is the step's spec. It has no fields of its own.
type swapServices struct{}

func decodeSwapServices(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"skipDryRun":        d.Flag(nil),  // real documents carry it; it has no meaning here
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &swapServices{}
}

// Start has a delegate swap the services.
func (*swapServices) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpSwap})
}
