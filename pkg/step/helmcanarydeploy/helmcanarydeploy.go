// Package helmcanarydeploy is the step type HelmCanaryDeploy: a few instances
// of the workload of a service's chart, as a Helm release of its own beside the
// one that serves (semantics/kubernetes §19.4). HelmCanaryDelete uninstalls it.
//
// Outputs: output.canaryRelease, output.canaryWorkload
// ("namespace/Kind/name"), output.targetInstances and those of HelmDeploy. The
// deployment itself is done by delegate/helm.
package helmcanarydeploy

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/helm"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpHelmCanary), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	helm.Install
	Instances *task.InstanceSelection // a percentage is of the chart's
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{
		"instanceSelection": func(e yamldoc.Value) { s.Instances = kubernetes.Instances(d, e) },
	}))
	d.Missing(v, "instanceSelection")
	return s
}

// Start has a delegate deploy the canary.
func (s *Spec) Start(in step.In) (step.Action, error) {
	p := s.Payload(task.OpHelmCanary)
	p.Instances = s.Instances
	return helm.Start(in, p)
}
