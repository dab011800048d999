package awssam

import (
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is the kind of its tasks.
const Kind task.Kind = "awssam"

// Op says what a task does: one for each step type.
type Op string

// The operations.
const (
	OpBuild    Op = "AwsSamBuild"
	OpDeploy   Op = "AwsSamDeploy"
	OpRollback Op = "AwsSamRollback"
)

// Target is the application of a stage and the account that it is deployed to.
type Target struct {
	AWS         task.AWS     `json:"aws"`
	Application *Application `json:"application,omitempty"`
	Selectors   []string     `json:"selectors,omitempty"`
}

// Application is the folder of an application.
type Application struct {
	workspace.Manifest
	Template string `json:"template,omitempty"` // its file; empty: the usual names
}

// Spec is the spec of every step's Work.
type Spec struct {
	Op      Op             `json:"op"`
	Target  Target         `json:"target"`
	Run     *workspace.Run `json:"run,omitempty"` // of those that run sam
	Stack   string         `json:"stack,omitempty"`
	Options []string       `json:"options,omitempty"` // of the command
}

// Place is where stacks are.
type Place struct {
	AWS task.AWS `json:"aws"`
}

// Account is the account that the place is in.
func (p Place) Account() task.AWS { return p.AWS }
