package awscdk

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is the tasks that run cdk.
const Kind task.Kind = "awscdk"

// Kinds are those of the steps' tasks.
func Kinds() swimlane.Kinds { return swimlane.Kinds{{Name: Kind, Fetched: swimlane.FetchesNothing}} }

// Op is what a task does.
type Op string

// The operations, by the types of their steps.
const (
	OpBootstrap Op = "AwsCdkBootstrap"
	OpDiff      Op = "AwsCdkDiff"
	OpSynth     Op = "AwsCdkSynth"
	OpDeploy    Op = "AwsCdkDeploy"
	OpDestroy   Op = "AwsCdkDestroy"
	OpRollback  Op = "AwsCdkRollback"
	OpCompare   Op = "AwsCdkDeployDiff" // of a preview
)

// Spec is what cdk is to do, of a task.Work.
type Spec struct {
	Op Op `json:"op"`
	// AWS is the account; nil: what cdk finds around it.
	AWS     *task.AWS     `json:"aws,omitempty"`
	Run     workspace.Run `json:"run"`
	App     string        `json:"app,omitempty"` // its folder in the workspace
	Stacks  []string      `json:"stacks,omitempty"`
	Options []string      `json:"options,omitempty"`
	// Parameters are those of the stacks, each as NAME or STACK:NAME.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Export says that the step's output has the templates.
	Export bool `json:"export,omitempty"`
}

// Place is where stacks are that are found again by their provisioner's identifier
// alone, of a provision.Provisioner.
type Place struct {
	ConnectorRef string `json:"connectorRef,omitempty"`
	Region       string `json:"region,omitempty"`
	RoleARN      string `json:"roleArn,omitempty"`
}

// String tells a place to people.
func (p Place) String() string {
	text := "no connector"
	if p.ConnectorRef != "" {
		text = "the connector " + p.ConnectorRef
	}
	if p.Region != "" {
		text += " in " + p.Region
	}
	if p.RoleARN != "" {
		text += " as " + p.RoleARN
	}
	return text
}
