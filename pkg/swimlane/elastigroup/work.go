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

	OpStageSetup   Op = "ElastigroupBGStageSetup"
	OpSwapRoute    Op = "ElastigroupSwapRoute"
	OpTrafficShift Op = "ElastigroupBlueGreenTrafficShift"
)

// Spec is the spec of every step's Work. What a stage has found is in its
// checkpoints.
type Spec struct {
	Op     Op     `json:"op"`
	Target Target `json:"target"`
	// Name is the one from which the names of the stage's groups are made.
	Name string `json:"name,omitempty"`
	// Size is how large the new group is to be in the end.
	Size *Size `json:"size,omitempty"`
	// Deploy is how many machines each of two groups gets.
	Deploy *Deploy `json:"deploy,omitempty"`

	// AWS is where the load balancers are.
	AWS       *task.AWS  `json:"aws,omitempty"`
	Balancers []Balancer `json:"balancers,omitempty"`
	// Downsize leaves the group that had the traffic without machines.
	Downsize bool   `json:"downsize,omitempty"`
	Shift    *Shift `json:"shift,omitempty"`
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

// Shift is how traffic is shared: by a percentage for the stage's new group, or as a
// rule of its own says.
type Shift struct {
	Percentage   *int      `json:"percentage,omitempty"`
	LoadBalancer string    `json:"loadBalancer,omitempty"`
	Listener     string    `json:"listener,omitempty"`
	Rule         string    `json:"rule,omitempty"`
	Forward      []Forward `json:"forward,omitempty"`
}

// Forward is a target group and its weight.
type Forward struct {
	TargetGroup string `json:"targetGroup"`
	Weight      int    `json:"weight"`
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

// Size is how many machines a group has.
type Size struct {
	// Running takes the size of the group that serves, whatever the rest says.
	Running bool `json:"running,omitempty"`
	Min     int  `json:"min,omitempty"`
	Max     int  `json:"max,omitempty"`
	Desired int  `json:"desired,omitempty"`
}

// Deploy says how many machines the new group gets, and how many the old one
// keeps; nil: those that the new one doesn't replace.
type Deploy struct {
	New Amount  `json:"new"`
	Old *Amount `json:"old,omitempty"`
}

// Amount is a count, or a percentage of the machines that a group should have.
type Amount struct {
	Value   int  `json:"value"`
	Percent bool `json:"percent,omitempty"`
}

// Place is the account in which a deployment's machines run. Of which groups they
// are is said by what was deployed there.
type Place struct {
	Spot task.Server `json:"spot"`
}
