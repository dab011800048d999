package awssam

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
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
	OpDiff     Op = "AwsSamDiff" // of a preview
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
	// Values are the layers of values by which the template is rendered, low to high;
	// none: it is taken as it is.
	Values []origin.ValuesFile `json:"values,omitempty"`
}

// Spec is the spec of every step's Work.
type Spec struct {
	Op      Op             `json:"op"`
	Target  Target         `json:"target"`
	Run     *workspace.Run `json:"run,omitempty"` // of those that run sam
	Stack   string         `json:"stack,omitempty"`
	Options []string       `json:"options,omitempty"` // of the command
	// Registry is where docker is logged in while sam runs.
	Registry *task.Server `json:"registry,omitempty"`
}

// fetched is what a delegate brings for a task: values. The application is in the
// workspace already, but for a preview.
func (s *Spec) fetched() swimlane.Fetched {
	var out swimlane.Fetched
	if s.Target.Application == nil {
		return out
	}
	if s.Op == OpDiff {
		out.Files, out.Stored = s.Target.Application.Store.Fetched(), s.Target.Application.Store.Stored()
	}
	for _, v := range s.Target.Application.Values {
		out.Files = out.Files || v.Store.Fetched()
		out.Stored = append(out.Stored, v.Store.Stored()...)
	}
	return out
}

// Place is where stacks are.
type Place struct {
	AWS task.AWS `json:"aws"`
}

// Account is the account that the place is in.
func (p Place) Account() task.AWS { return p.AWS }
