package serverless

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Steps lists the step types of its stages: those that bring the folder and do all
// by themselves, and those that are parts of it, which may run in containers.
func Steps() []step.Type {
	return []step.Type{
		previewed(whole(OpDeploy, "commandOptions"), 0, "commandOptions"), whole(OpRollback, ""),
		part(OpPrepare, ""), previewed(part(OpPackage, "packageCommandOptions"), 0, "packageCommandOptions"),
		previewed(part(OpDeployV2, "deployCommandOptions"), 1, "deployCommandOptions"), part(OpRollbackV2, ""),
	}
}

// program is what its steps run, by any of its names.
const program = "serverless|sls|osls"

// command is the spec of a step that runs serverless.
type command struct {
	op      Op
	tool    workspace.Tool
	Text    yamldoc.Field[string] // options, of a whole step
	Options yamldoc.Field[[]string]
	Version yamldoc.Field[string]
}

// whole is a step type that brings the service's folder itself.
//
// Outputs of OpDeploy: output.stackName, output.timestamp, output.functions and
// output.outputVariables, which are the stack's outputs; of OpRollback:
// output.stacks.
func whole(op Op, options string) step.Type {
	return step.Type{Name: string(op), Deploys: true, Session: true, Tool: program, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		c := &command{op: op}
		keys := document.Keys{"delegateSelectors": d.Words(nil)} // the plan's
		if options != "" {
			keys[options] = d.Text(&c.Text)
		}
		d.Fields(v, keys)
		return c
	}}
}

// previewed is a step type whose changes can be seen before, by Diff; part is as
// step.Preview has it, and options the key of its options.
func previewed(t step.Type, part int, options string) step.Type {
	t.Preview = &step.Preview{By: string(OpDiff), Part: part, Keys: []string{options, "serverlessVersion", "envVariables"}}
	return t
}

// Diff is the step type that a preview has in place of one that packages or deploys:
// it packages the service, tells how the stack would change, and changes nothing. No
// pipeline names it.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is made
// by delegate/serverless.
func Diff() step.Type {
	return step.Type{Name: string(OpDiff), Deploys: true, Session: true, Tool: program, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		c := &command{op: OpDiff}
		d.Fields(v, document.Merge(c.tool.Keys(d), document.Keys{
			"serverlessVersion": workspace.Version(d, &c.Version), "commandOptions": d.Text(&c.Text),
			"packageCommandOptions": d.Words(&c.Options), "deployCommandOptions": d.Words(&c.Options),
		}))
		return c
	}}
}

// part is a step type of those that follow each other.
//
// Outputs of OpPrepare: output.stackName, output.timestamp and output.first; of
// the others those of the whole steps.
func part(op Op, options string) step.Type {
	return step.Type{Name: string(op), Deploys: true, Session: true, Tool: program, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		c := &command{op: op}
		keys := document.Merge(c.tool.Keys(d), document.Keys{"serverlessVersion": workspace.Version(d, &c.Version)})
		if options != "" {
			keys[options] = d.Words(&c.Options)
		}
		d.Fields(v, keys)
		return c
	}}
}

// Start has serverless run where the session is.
func (c *command) Start(in step.In) (step.Action, error) {
	target, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	if target.Application == nil {
		return step.Action{}, fault.New(fault.Invalid, "the service has no manifest of the type %s", Type).Causing(fault.ConfigurationFailure)
	}
	p := Spec{Op: c.op, Target: *target, Options: c.Options.Value}
	if c.Text.Value != "" {
		p.Options = []string{c.Text.Value}
	}
	if p.Run, err = c.tool.Run(in); err != nil {
		return step.Action{}, err
	}
	p.Target.Selectors = nil
	a, err := step.Deploy(in, Kind, p, Place{AWS: target.AWS}, target.Selectors...)
	if err != nil {
		return a, err
	}
	a.Task.Machine, a.Task.Tools = in.Session.Machine, []string{workspace.Wanted(program, c.Version.Value)}
	return a, nil
}
