package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// canaryDeployType is the step type HelmCanaryDeploy: a few instances of the
// workload of a service's chart, as a Helm release of its own beside the one
// that serves (semantics/kubernetes §19.4). HelmCanaryDelete uninstalls it.
//
// Outputs: output.canaryRelease, output.canaryWorkload
// ("namespace/Kind/name"), output.targetInstances and those of HelmDeploy. The
// deployment itself is done by delegate/helm.
func canaryDeployType() step.Type {
	return step.Type{Name: string(OpCanary), Deploys: true, New: decodeCanaryDeploy}
}

// canaryDeploy is the step's spec.
type canaryDeploy struct {
	install
	Instances *kubernetes.InstanceSelection // a percentage is of the chart's
}

func decodeCanaryDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &canaryDeploy{}
	d.Fields(v, document.Merge(s.keys(d), document.Keys{
		"instanceSelection": func(e yamldoc.Value) { s.Instances = kubernetes.DecodeInstances(d, e) },
	}))
	d.Missing(v, "instanceSelection")
	return s
}

// Start has a delegate deploy the canary.
func (s *canaryDeploy) Start(in step.In) (step.Action, error) {
	p := s.payload(OpCanary)
	p.Instances = s.Instances
	return start(in, p)
}
