package ecs

import (
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is the kind of its tasks.
const Kind task.Kind = "ecs"

// Op says what a task does: one for each step type.
type Op string

// The operations.
const (
	OpRolling         Op = "EcsRollingDeploy"
	OpRollingRollback Op = "EcsRollingRollback"
	OpCanary          Op = "EcsCanaryDeploy"
	OpCanaryDelete    Op = "EcsCanaryDelete"
	OpRunTask         Op = "EcsRunTask"
	OpScale           Op = "EcsScale"
	OpSetup           Op = "EcsServiceSetup"
	OpUpgrade         Op = "EcsUpgradeContainer"
	OpBasicRollback   Op = "EcsBasicRollback"

	// Of a preview, in place of the steps that deploy.
	OpDiff          Op = "EcsDiff"
	OpCanaryDiff    Op = "EcsCanaryDiff"
	OpBlueGreenDiff Op = "EcsBlueGreenDiff"
	OpSetupDiff     Op = "EcsServiceSetupDiff"

	OpBlueGreenCreate   Op = "EcsBlueGreenCreateService"
	OpBlueGreenSwap     Op = "EcsBlueGreenSwapTargetGroups"
	OpTrafficShift      Op = "EcsBlueGreenTrafficShift"
	OpBlueGreenRollback Op = "EcsBlueGreenRollback"
	OpShiftRollback     Op = "StandAloneTrafficShiftRollback"
)

// Spec is the spec of every step's Work.
type Spec struct {
	Op     Op     `json:"op"`
	Target Target `json:"target"`

	// SameCount leaves a service that is there as many tasks as it has.
	SameCount bool `json:"sameCount,omitempty"`
	// Force has ECS replace the tasks although nothing differs.
	Force bool `json:"force,omitempty"`
	// SkipScaling leaves what scales the service as it is.
	SkipScaling bool `json:"skipScaling,omitempty"`
	SkipSteady  bool `json:"skipSteady,omitempty"` // run task, scale

	// Resize is which of two services EcsUpgradeContainer scales first.
	Resize string `json:"resize,omitempty"`

	RunTask *RunTask `json:"runTask,omitempty"`
	Scale   *Scale   `json:"scale,omitempty"`
	Upgrade *Upgrade `json:"upgrade,omitempty"`

	BlueGreen *BlueGreen `json:"blueGreen,omitempty"`
	Swap      *Swap      `json:"swap,omitempty"`
	Shift     *aws.Shift `json:"shift,omitempty"`
}

// Target is a cluster and the documents of what is deployed there. Those are in
// the forms of AWS's own requests.
type Target struct {
	AWS     task.AWS `json:"aws"`
	Cluster string   `json:"cluster"` // its name or ARN
	// TaskDefinition is that of RegisterTaskDefinition; without one
	// TaskDefinitionARN is one that is registered already.
	TaskDefinition    *aws.Manifest `json:"taskDefinition,omitempty"`
	TaskDefinitionARN string        `json:"taskDefinitionArn,omitempty"`
	// Service is that of CreateService.
	Service *aws.Manifest `json:"service,omitempty"`
	// Targets are those of RegisterScalableTarget, Policies of PutScalingPolicy.
	Targets  []aws.Manifest `json:"scalableTargets,omitempty"`
	Policies []aws.Manifest `json:"scalingPolicies,omitempty"`
	// Selectors are those that a delegate needs for the connector and the files.
	Selectors []string `json:"selectors,omitempty"`
}

// RunTask is what EcsRunTask runs.
type RunTask struct {
	Request           aws.Manifest  `json:"request"` // that of RunTask
	TaskDefinition    *aws.Manifest `json:"taskDefinition,omitempty"`
	TaskDefinitionARN string        `json:"taskDefinitionArn,omitempty"`
}

// Scale says how many tasks a service gets: a count, or a percentage of those
// that it should have now.
type Scale struct {
	Service    string `json:"service"`
	Count      *int   `json:"count,omitempty"`
	Percentage *int   `json:"percentage,omitempty"`
	// Elsewhere: it isn't a service of the stage's cluster, so that what runs there is
	// no instance of what the stage deploys.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// The order in which two services are scaled.
const (
	ResizeNewFirst   = "ResizeNewFirst"
	DownsizeOldFirst = "DownsizeOldFirst"
)

// Upgrade says how many tasks a service gets, and how many the one before it is
// left; nil: those that the new one doesn't replace.
type Upgrade struct {
	New Amount  `json:"new"`
	Old *Amount `json:"old,omitempty"`
}

// Amount is a count or a percentage.
type Amount struct {
	Value   int  `json:"value"`
	Percent bool `json:"percent,omitempty"`
}

// Place is the cluster in which a deployment's tasks run. Of which services they
// are is said by what was deployed there.
type Place struct {
	AWS     task.AWS `json:"aws"`
	Cluster string   `json:"cluster"`
}
