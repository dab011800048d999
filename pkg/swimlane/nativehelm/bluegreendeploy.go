package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenDeployType is the step type HelmBGDeploy: the colour of a service's
// chart that doesn't serve is deployed as a Helm release of its own, behind the
// stage service (semantics/kubernetes §19.5).
//
// Outputs: output.primaryServiceName, output.stageServiceName,
// output.primaryColor, output.stageColor, output.stageRelease and those of
// HelmDeploy. The deployment itself is done by delegate/helm; the services are
// exchanged by HelmBlueGreenSwapStep.
func blueGreenDeployType() step.Type {
	return step.Type{Name: string(OpBlueGreen), Deploys: true, New: decodeBlueGreenDeploy}
}

// blueGreenDeploy is the step's spec.
type blueGreenDeploy struct{ install }

func decodeBlueGreenDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &blueGreenDeploy{}
	d.Fields(v, s.keys(d))
	return s
}

// Start has a delegate deploy the colour.
func (s *blueGreenDeploy) Start(in step.In) (step.Action, error) {
	return start(in, s.payload(OpBlueGreen))
}
