package serverless

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// Kind is the kind of its tasks.
const Kind task.Kind = "serverless"

// Op says what a task does: one for each step type.
type Op string

// The operations.
const (
	OpDeploy     Op = "ServerlessAwsLambdaDeploy"
	OpRollback   Op = "ServerlessAwsLambdaRollback"
	OpPrepare    Op = "ServerlessAwsLambdaPrepareRollbackV2"
	OpPackage    Op = "ServerlessAwsLambdaPackageV2"
	OpDeployV2   Op = "ServerlessAwsLambdaDeployV2"
	OpRollbackV2 Op = "ServerlessAwsLambdaRollbackV2"
	OpDiff       Op = "ServerlessAwsLambdaDiff" // of a preview
)

// Target is the service of a stage and the account that it is deployed to.
type Target struct {
	AWS         task.AWS         `json:"aws"`
	Stage       string           `json:"stage"` // as serverless calls it
	Application *Application     `json:"application,omitempty"`
	Artifact    *lookup.Artifact `json:"artifact,omitempty"`
	Sidecars    []lookup.Sidecar `json:"sidecars,omitempty"`
	Selectors   []string         `json:"selectors,omitempty"`
}

// Application is the folder of a service.
type Application struct {
	workspace.Manifest
	Config string `json:"config,omitempty"` // its file; empty: the usual names
}

// Spec is the spec of every step's Work.
type Spec struct {
	Op      Op            `json:"op"`
	Target  Target        `json:"target"`
	Run     workspace.Run `json:"run"`
	Options []string      `json:"options,omitempty"` // of the command
}

// fetched is what a delegate brings: the folder, whose configuration has
// expressions.
func (s *Spec) fetched() swimlane.Fetched {
	if s.Target.Application == nil {
		return swimlane.Fetched{}
	}
	return swimlane.Fetched{Files: true, Stored: s.Target.Application.Store.Stored()}
}

// Place is where stacks are.
type Place struct {
	AWS task.AWS `json:"aws"`
}

// Account is the account that the place is in.
func (p Place) Account() task.AWS { return p.AWS }
