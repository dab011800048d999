package asg

import (
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is the kind of its tasks.
const Kind task.Kind = "asg"

// Op says what a task does: one for each step type.
type Op string

// The operations.
const (
	OpRolling           Op = "AsgRollingDeploy"
	OpRollingRollback   Op = "AsgRollingRollback"
	OpSteadyState       Op = "AsgSteadyState"
	OpCanary            Op = "AsgCanaryDeploy"
	OpCanaryDelete      Op = "AsgCanaryDelete"
	OpScale             Op = "AsgScale"
	OpBlueGreen         Op = "AsgBlueGreenDeploy"
	OpBlueGreenSwap     Op = "AsgBlueGreenSwapService"
	OpShiftTraffic      Op = "AsgShiftTraffic"
	OpBlueGreenRollback Op = "AsgBlueGreenRollback"
	OpSetup             Op = "AsgSetup"
	OpPhased            Op = "AsgPhasedDeploy"
	OpPhasedRollback    Op = "AsgRollback"

	// Of a preview, in place of the steps that deploy.
	OpDiff          Op = "AsgDiff"
	OpCanaryDiff    Op = "AsgCanaryDiff"
	OpBlueGreenDiff Op = "AsgBlueGreenDiff"
	OpSetupDiff     Op = "AsgSetupDiff"
)

// Spec is the spec of every step's Work. What a stage has found is in its
// checkpoints.
type Spec struct {
	Op     Op     `json:"op"`
	Target Target `json:"target"`
	// Name is the group's, in place of what its configuration says.
	Name string `json:"name,omitempty"`
	// Size is how large the group becomes; nil: as its configuration says.
	Size    *aws.Size `json:"size,omitempty"`
	Refresh *Refresh  `json:"refresh,omitempty"`
	// Resize says in which order the groups of AsgSetup change their sizes.
	Resize string `json:"resize,omitempty"`
	// Selection is how many machines a canary, a scaled or a new group gets.
	Selection *aws.Amount `json:"selection,omitempty"`
	// Poll is how often AsgSteadyState looks, in seconds.
	Poll       int  `json:"poll,omitempty"`
	SkipSteady bool `json:"skipSteady,omitempty"` // of AsgScale
	// Elsewhere says that the group isn't in the region of the stage, so that it is no
	// instance of what the stage deploys.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Balancers are those behind which AsgBlueGreenDeploy makes a group.
	Balancers []Balancer `json:"loadBalancers,omitempty"`
	// Traffic is how it moves from one group to the other.
	Traffic *Traffic `json:"traffic,omitempty"`
}

// Balancer is a load balancer with the places where its traffic is moved.
type Balancer struct {
	Name         string `json:"loadBalancer"` // or its ARN
	ProdListener string `json:"prodListener"` // ARNs from here on
	ProdRule     string `json:"prodRule"`
	// The stage's, whose target groups are swapped with production's; without them
	// traffic is shifted by the weights of production's rule.
	StageListener string `json:"stageListener,omitempty"`
	StageRule     string `json:"stageRule,omitempty"`
}

// Traffic is how much of it the new group gets, and what becomes of the old one.
type Traffic struct {
	Weight   int  `json:"weight"`             // percent
	Downsize bool `json:"downsize,omitempty"` // the old group has no machines then
}

// Target is a region and the documents of what is deployed there. Those are in
// the forms of AWS's own requests.
type Target struct {
	AWS task.AWS `json:"aws"`
	// Base is a group that stands for documents which the service hasn't; it is
	// never changed.
	Base          string        `json:"base,omitempty"`
	Template      *aws.Manifest `json:"launchTemplate,omitempty"` // that of CreateLaunchTemplate
	UserData      *aws.Manifest `json:"userData,omitempty"`       // plain text
	Configuration *aws.Manifest `json:"configuration,omitempty"`  // that of CreateAutoScalingGroup
	// Policies are those of PutScalingPolicy, Schedules of
	// PutScheduledUpdateGroupAction.
	Policies   []aws.Manifest `json:"scalingPolicies,omitempty"`
	Schedules  []aws.Manifest `json:"schedules,omitempty"`
	Additional *aws.Manifest  `json:"additional,omitempty"` // which metrics are collected
	// Image is the id of the service's image; empty: what the launch template says.
	Image string `json:"image,omitempty"`
	// Selectors are those that a delegate needs for the connector and the files.
	Selectors []string `json:"selectors,omitempty"`
}

// Refresh says how the machines of a group are replaced.
type Refresh struct {
	MinHealthy   int  `json:"minHealthy"`       // percent
	MaxHealthy   int  `json:"maxHealthy"`       // likewise
	Warmup       *int `json:"warmup,omitempty"` // seconds; nil: as the group says
	SkipMatching bool `json:"skipMatching,omitempty"`
	// Early leaves it to AsgSteadyState to wait until the old machines are gone.
	Early bool `json:"early,omitempty"`
	// Another says what is done where another refresh goes on.
	Another Another `json:"another"`
}

// Another is what is done where a refresh of somebody else goes on.
type Another string

// What is done there.
const (
	AnotherFails  Another = "Fail"   // the step fails
	AnotherWaits  Another = "Wait"   // its end is waited for
	AnotherYields Another = "Cancel" // it is cancelled
)

// Place is the region in which a deployment's machines run. Of which groups they
// are is said by what was deployed there.
type Place struct {
	AWS task.AWS `json:"aws"`
}
