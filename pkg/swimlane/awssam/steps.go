package awssam

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Steps lists the step types of its stages.
func Steps() []step.Type { return []step.Type{buildType(), deployType(), rollbackType()} }

// tool is the program of its steps.
const tool = "sam"

// command is the spec of a step that runs sam.
type command struct {
	op      Op
	tool    workspace.Tool
	Options yamldoc.Field[[]string]
	Version yamldoc.Field[string]
	Stack   yamldoc.Field[string] // of AwsSamDeploy
	builds  yamldoc.Field[string] // the registry of the images in which sam builds
}

func (c *command) keys(d *document.Decoder, options string) document.Keys {
	return document.Merge(c.tool.Keys(d), document.Keys{
		options:                              d.Words(&c.Options),
		"samVersion":                         workspace.Version(d, &c.Version),
		"samBuildDockerRegistryConnectorRef": d.Reference(ref.Connector, &c.builds),
	})
}

// Start has sam run where the session is.
func (c *command) Start(in step.In) (step.Action, error) {
	target, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	if target.Application == nil {
		return step.Action{}, fault.New(fault.Invalid, "the service has no manifest of the type %s", directory).Causing(fault.ConfigurationFailure)
	}
	run, err := c.tool.Run(in)
	if err != nil {
		return step.Action{}, err
	}
	p := Spec{Op: c.op, Run: &run, Stack: c.Stack.Value, Options: c.Options.Value}
	var selectors []string
	if name := step.Text(c.builds); name != "" {
		registry, near, err := in.Server(name, "DockerRegistry")
		if err != nil {
			return step.Action{}, fmt.Errorf("samBuildDockerRegistryConnectorRef: %w", err)
		}
		p.Registry, selectors = &registry, near
	}
	return start(in, *target, p, func(t *step.Task) {
		t.Machine, t.Tools, t.Selectors = in.Session.Machine, []string{workspace.Wanted(tool, c.Version.Value)}, append(t.Selectors, selectors...)
	})
}

// start makes the task of an operation.
func start(in step.In, target Target, p Spec, more func(*step.Task)) (step.Action, error) {
	p.Target, p.Target.Selectors = target, nil
	a, err := step.Deploy(in, Kind, p, Place{AWS: target.AWS}, target.Selectors...)
	if err != nil {
		return a, err
	}
	more(a.Task)
	return a, nil
}
