package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The modes: the instances that there were, or a selection.
const (
	countAuto   = "Auto"
	countCustom = "Custom"
)

// stageScaleUpType is the step type K8sBlueGreenStageScaleUp: the colour that
// users don't see gets instances again (semantics/kubernetes §14.5).
//
// Outputs: output.releaseName. Which colour that is, and how many instances it
// had, is found in the cluster by delegate/kubernetes.
func stageScaleUpType() step.Type {
	return step.Type{Name: string(OpStageScaleUp), Deploys: true, New: decodeStageScaleUp}
}

// stageScaleUp is the step's spec.
type stageScaleUp struct {
	Mode yamldoc.Field[string] // Auto unless set
	// Instances is how many; a percentage is of the colour that serves.
	Instances       *InstanceSelection
	SkipSteadyState yamldoc.Field[bool]
}

func decodeStageScaleUp(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &stageScaleUp{}
	d.Fields(v, document.Keys{
		"replicaCountMode": d.Word(&s.Mode, countAuto, countCustom),
		"instanceSelection": func(e yamldoc.Value) {
			if !e.Null() {
				s.Instances = DecodeInstances(d, e)
			}
		},
		"skipSteadyStateCheck": d.Flag(&s.SkipSteadyState),
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	if s.Mode.Value == countCustom {
		d.Missing(v, "instanceSelection")
	}
	return s
}

// Start has a delegate scale the colour up.
func (s *stageScaleUp) Start(in step.In) (step.Action, error) {
	p := Spec{Op: OpStageScaleUp, SkipSteadyState: s.SkipSteadyState.Value}
	if s.Mode.Value == countCustom {
		if s.Instances == nil {
			return step.Action{}, fault.New(fault.Invalid, "instanceSelection is missing; replicaCountMode Custom needs it")
		}
		p.Instances = s.Instances
	}
	return start(in, p)
}
