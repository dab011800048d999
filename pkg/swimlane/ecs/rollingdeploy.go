package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollingDeployType is the step type EcsRollingDeploy: the service's task
// definition is registered, and its service is made or updated and replaces its
// tasks as it says itself.
//
// Outputs: output.serviceName, output.serviceArn, output.region,
// output.cluster, output.taskDefinitionArn, output.deploymentId,
// output.desiredCount and output.firstDeployment. The deployment itself is done
// by delegate/ecs.
func rollingDeployType() step.Type {
	t := step.Type{Name: string(OpRolling), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeRollingDeploy(d, v) }}
	return previewed(t, OpDiff, 0, "sameAsAlreadyRunningInstances", "skipApplicationScaling")
}

// rollingDeploy is the step's spec.
type rollingDeploy struct {
	SameCount   yamldoc.Field[bool] // sameAsAlreadyRunningInstances
	Force       yamldoc.Field[bool] // forceNewDeployment
	SkipScaling yamldoc.Field[bool] // skipApplicationScaling
}

func decodeRollingDeploy(d *document.Decoder, v yamldoc.Value) *rollingDeploy {
	s := &rollingDeploy{}
	d.Fields(v, document.Keys{
		"sameAsAlreadyRunningInstances": d.Flag(&s.SameCount),
		"forceNewDeployment":            d.Flag(&s.Force),
		"skipApplicationScaling":        d.Flag(&s.SkipScaling),
		"delegateSelectors":             d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate deploy.
func (s *rollingDeploy) Start(in step.In) (step.Action, error) { return s.start(in, OpRolling) }

func (s *rollingDeploy) start(in step.In, op Op) (step.Action, error) {
	return start(in, Spec{Op: op, SameCount: s.SameCount.Value, Force: s.Force.Value, SkipScaling: s.SkipScaling.Value})
}
