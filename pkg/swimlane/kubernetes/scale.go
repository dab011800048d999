package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// scaleType is the step type K8sScale: a workload gets another number of
// instances (semantics/kubernetes §15).
//
// Outputs: output.releaseName. The workload is found and scaled by
// delegate/kubernetes.
func scaleType() step.Type {
	return step.Type{Name: string(OpScale), Deploys: true, New: decodeScale}
}

// scale is the step's spec.
type scale struct {
	Workload yamldoc.Field[string] // [namespace/]Kind/name
	// Instances is the wanted number; a percentage is of what there is before.
	Instances       *InstanceSelection
	SkipSteadyState yamldoc.Field[bool]
}

func decodeScale(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &scale{}
	d.Fields(v, document.Keys{
		"workload":             func(e yamldoc.Value) { s.Workload = workloadName(d, e) },
		"instanceSelection":    func(e yamldoc.Value) { s.Instances = DecodeInstances(d, e) },
		"skipSteadyStateCheck": d.Flag(&s.SkipSteadyState),
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	d.Missing(v, "workload", "instanceSelection")
	return s
}

// Start has a delegate scale the workload.
func (s *scale) Start(in step.In) (step.Action, error) {
	return start(in, Spec{
		Op: OpScale, Workload: step.Text(s.Workload), Instances: s.Instances, SkipSteadyState: s.SkipSteadyState.Value,
	})
}
