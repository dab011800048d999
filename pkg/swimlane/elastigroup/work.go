package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is the kind of its tasks.
const Kind task.Kind = "elastigroup"

// Op says what a task does: one for each step type.
type Op string

// The operations.
const (
	OpSetup    Op = "ElastigroupSetup"
	OpDeploy   Op = "ElastigroupDeploy"
	OpRollback Op = "ElastigroupRollback"

	// Of a preview, in place of the steps that make a group.
	OpDiff      Op = "ElastigroupDiff"
	OpStageDiff Op = "ElastigroupStageDiff"

	OpStageSetup   Op = "ElastigroupBGStageSetup"
	OpSwapRoute    Op = "ElastigroupSwapRoute"
	OpTrafficShift Op = "ElastigroupBlueGreenTrafficShift"
	// OpShiftRollback is of the step type that stages of ECS have, too.
	OpShiftRollback Op = "StandAloneTrafficShiftRollback"
)

// Spec is the spec of every step's Work. What a stage has found is in its
// checkpoints.
type Spec struct {
	Op     Op     `json:"op"`
	Target Target `json:"target"`
	// Name is the one from which the names of the stage's groups are made.
	Name string `json:"name,omitempty"`
	// Size is how large the new group is to be in the end.
	Size *aws.Size `json:"size,omitempty"`
	// Deploy is how many machines each of two groups gets.
	Deploy *Deploy `json:"deploy,omitempty"`

	// AWS is where the load balancers are.
	AWS       *task.AWS  `json:"aws,omitempty"`
	Balancers []Balancer `json:"balancers,omitempty"`
	// Downsize leaves the group that had the traffic without machines.
	Downsize bool       `json:"downsize,omitempty"`
	Shift    *aws.Shift `json:"shift,omitempty"`
}

// Balancer is a load balancer before a stage's groups: by a listener that has the
// traffic, and by one for the stage or, with Shift, by a target group of the stage's
// at the first listener's rule.
type Balancer struct {
	LoadBalancer     string `json:"loadBalancer"`
	ProdPort         string `json:"prodPort"`
	ProdRule         string `json:"prodRule"`
	StagePort        string `json:"stagePort,omitempty"`
	StageRule        string `json:"stageRule,omitempty"`
	StageTargetGroup string `json:"stageTargetGroup,omitempty"`
	Shift            bool   `json:"shift,omitempty"`
}

// Target is an account of Spot, and the documents of what is deployed there.
type Target struct {
	Spot task.Server `json:"spot"`
	// Configuration is a group, in the form of Spot's own request.
	Configuration *aws.Manifest `json:"configuration,omitempty"`
	Startup       *aws.Manifest `json:"startupScript,omitempty"` // plain text
	// Image is the id of the service's image; empty: what the configuration says.
	Image string `json:"image,omitempty"`
	// Selectors are those that a delegate needs for the connector.
	Selectors []string `json:"selectors,omitempty"`
}

// Deploy says how many machines the new group gets, and how many the old one
// keeps; nil: those that the new one doesn't replace.
type Deploy struct {
	New aws.Amount  `json:"new"`
	Old *aws.Amount `json:"old,omitempty"`
}

// Place is the account in which a deployment's machines run. Of which groups they
// are is said by what was deployed there.
type Place struct {
	Spot task.Server `json:"spot"`
}
