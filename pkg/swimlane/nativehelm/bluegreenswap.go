package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenSwapType is the step type HelmBlueGreenSwapStep: the primary and the
// stage service of the stage's HelmBGDeploy exchange their colours
// (semantics/kubernetes §19.5). In a rollback they do so only if they have been
// exchanged before.
//
// Outputs: output.primaryServiceName, output.stageServiceName and
// output.releaseName. The selectors are changed by delegate/helm.
func blueGreenSwapType() step.Type {
	return step.Type{Name: string(OpSwap), Deploys: true, New: decodeBlueGreenSwap}
}

// blueGreenSwap is the step's spec. It has no fields of its own.
type blueGreenSwap struct{}

func decodeBlueGreenSwap(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"commandFlags": func(e yamldoc.Value) {
			if e.Is(yamldoc.Sequence) && len(e.Node.Items) > 0 {
				d.Unsupported(e, "commandFlags can't be honoured: the swap changes two services and runs no command of Helm's")
			}
		},
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &blueGreenSwap{}
}

// Start has a delegate swap the services.
func (*blueGreenSwap) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpSwap})
}
