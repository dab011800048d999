package awslambda

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// Kind is the kind of its tasks.
const Kind task.Kind = "awslambda"

// Op says what a task does: one for each step type.
type Op string

// The operations.
const (
	OpDeploy         Op = "AwsLambdaDeploy"
	OpRollback       Op = "AwsLambdaRollback"
	OpCanary         Op = "AwsLambdaCanaryDeploy"
	OpShift          Op = "AwsLambdaTrafficShift"
	OpCanaryRollback Op = "AwsLambdaCanaryRollback"
	OpDiff           Op = "AwsLambdaDiff" // of a preview
)

// Target is the function of a stage: its account, its definition and its code.
type Target struct {
	AWS       task.AWS         `json:"aws"`
	Function  []aws.Manifest   `json:"function,omitempty"` // one, if the service has it
	Aliases   []aws.Manifest   `json:"aliases,omitempty"`
	Artifact  *lookup.Artifact `json:"artifact,omitempty"` // a zip or an image of ECR, with its version
	Selectors []string         `json:"selectors,omitempty"`
}

// Spec is the spec of every step's Work. What a stage found and what it published
// is in its checkpoints.
type Spec struct {
	Op      Op     `json:"op"`
	Target  Target `json:"target"`
	Percent int    `json:"percent,omitempty"` // of the traffic that goes to the new version
}

// Place is where the function is, for who watches it. Which function it is, and
// how it gets its traffic, is in the workloads that steps report.
type Place struct {
	AWS task.AWS `json:"aws"`
}

// Deploys says whether a task reads the function's definition.
func (s *Spec) Deploys() bool { return s.Op == OpDeploy || s.Op == OpCanary || s.Op == OpDiff }

// fetched is what a delegate brings for a task.
func (s *Spec) fetched() swimlane.Fetched {
	if !s.Deploys() {
		return swimlane.Fetched{}
	}
	return aws.Fetched(slices.Concat(s.Target.Function, s.Target.Aliases)...)
}
