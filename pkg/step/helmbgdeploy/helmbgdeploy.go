// Package helmbgdeploy is the step type HelmBGDeploy: the colour of a service's
// chart that doesn't serve is deployed as a Helm release of its own, behind the
// stage service (semantics/kubernetes §19.5).
//
// Outputs: output.primaryServiceName, output.stageServiceName,
// output.primaryColor, output.stageColor, output.stageRelease and those of
// HelmDeploy. The deployment itself is done by delegate/helm; the services are
// exchanged by HelmBlueGreenSwapStep.
package helmbgdeploy

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/helm"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: string(task.OpHelmBlueGreen), Deploys: true, New: decode}
}

// Spec is the step's spec.
type Spec struct{ helm.Install }

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, s.Keys(d))
	return s
}

// Start has a delegate deploy the colour.
func (s *Spec) Start(in step.In) (step.Action, error) {
	return helm.Start(in, s.Payload(task.OpHelmBlueGreen))
}
