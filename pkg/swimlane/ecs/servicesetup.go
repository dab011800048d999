package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// serviceSetupType is the step type EcsServiceSetup: what is to be deployed
// becomes a service of its own beside the one that serves, without tasks yet.
// EcsUpgradeContainer then moves tasks from one to the other.
//
// Outputs: output.newServiceName, output.oldServiceName, output.targetCount and
// those of EcsRollingDeploy. The service is made by delegate/ecs.
func serviceSetupType() step.Type {
	t := step.Type{Name: string(OpSetup), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeServiceSetup(d, v) }}
	return previewed(t, OpSetupDiff, 0, "sameAsAlreadyRunningInstances")
}

// serviceSetup is the step's spec.
type serviceSetup struct {
	Strategy  yamldoc.Field[string] // resizeStrategy
	SameCount yamldoc.Field[bool]   // sameAsAlreadyRunningInstances
}

func decodeServiceSetup(d *document.Decoder, v yamldoc.Value) *serviceSetup {
	s := &serviceSetup{}
	d.Fields(v, document.Keys{
		"resizeStrategy":                d.Word(&s.Strategy, ResizeNewFirst, DownsizeOldFirst),
		"sameAsAlreadyRunningInstances": d.Flag(&s.SameCount),
		"delegateSelectors":             d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate make the service.
func (s *serviceSetup) Start(in step.In) (step.Action, error) { return s.start(in, OpSetup) }

func (s *serviceSetup) start(in step.In, op Op) (step.Action, error) {
	return start(in, Spec{Op: op, SameCount: s.SameCount.Value, Resize: s.Strategy.Or(ResizeNewFirst)})
}
