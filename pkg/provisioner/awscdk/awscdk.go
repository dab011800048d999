// Package awscdk is the steps that run cdk of the AWS Cloud Development Kit on an
// app in the workspace of their session: AwsCdkBootstrap, AwsCdkDiff, AwsCdkSynth,
// AwsCdkDeploy, AwsCdkDestroy, and AwsCdkRollback, which deploys again what was
// deployed last (semantics/pipeline §7.15).
//
// They belong to no deployment type. cdk is run by delegate/awscdk.
package awscdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// tool is the program of the steps.
const tool = "cdk"

// Steps lists the step types.
func Steps() []step.Type {
	return []step.Type{
		commandType(OpBootstrap, nil),
		commandType(OpDiff, (*command).stacks),
		commandType(OpSynth, (*command).synth),
		deployType(),
		commandType(OpDestroy, (*command).stacks),
		rollbackType(),
	}
}

// deployType is the step type AwsCdkDeploy.
func deployType() step.Type {
	t := commandType(OpDeploy, (*command).deploy)
	t.Preview = &step.Preview{By: string(OpCompare), Own: true}
	return t
}

// Diff is the step type that a preview has in place of AwsCdkDeploy: it tells how the
// stacks' resources would change, and changes none. No pipeline names it.
//
// Outputs: output.diff, output.changed and output.hasChanges.
func Diff() step.Type { return commandType(OpCompare, (*command).deploy) }

// commandType is the type of a step that runs a command of cdk; more are the keys
// that not all have.
//
// Outputs: output.diff of AwsCdkDiff; output.outputVariables.<stack>, which is its
// template, of AwsCdkSynth with exportTemplate; of AwsCdkDeploy
// cdkOutput.<stack>.<output>, output.outputVariables.GIT_COMMIT_ID and
// output.outputVariables.LATEST_SUCCESSFUL_PROVISIONING_COMMIT_ID.
func commandType(op Op, more func(*command, *document.Decoder) document.Keys) step.Type {
	return step.Type{Name: string(op), Session: true, Tool: tool, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		c := &command{op: op}
		keys := c.keys(d)
		if more != nil {
			keys = document.Merge(keys, more(c, d))
		}
		d.Fields(v, keys)
		if c.RoleARN.Set && c.RoleARN.Value+c.RoleARN.Expr != "" && c.ConnectorRef.Value+c.ConnectorRef.Expr == "" {
			d.Errorf(document.Child(v, "roleArn"), document.WrongValue, "roleArn needs an awsConnectorRef, whose credentials assume the role")
		}
		if op == OpDeploy {
			d.Missing(v, "provisionerIdentifier")
		}
		return c
	}}
}

// command is the spec of a step that runs a command of cdk.
type command struct {
	op           Op
	tool         workspace.Tool
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	RoleARN      yamldoc.Field[string]
	App          yamldoc.Field[string]
	Options      yamldoc.Field[[]string]
	Stacks       yamldoc.Field[[]string]
	Export       yamldoc.Field[bool]
	Identifier   yamldoc.Field[string] // of AwsCdkDeploy
	Parameters   yamldoc.Field[map[string]string]
}

func (c *command) keys(d *document.Decoder) document.Keys {
	all := document.Merge(c.tool.Keys(d), document.Keys{
		"awsConnectorRef": d.Reference(ref.Connector, &c.ConnectorRef),
		"region":          d.Text(&c.Region),
		"roleArn":         d.Text(&c.RoleARN),
		"commandOptions":  d.Words(&c.Options),
		"appPath":         workspace.Inside(d, &c.App),
	})
	delete(all, "preExecution") // these steps have none
	return all
}

func (c *command) stacks(d *document.Decoder) document.Keys {
	return document.Keys{"stackNames": d.Words(&c.Stacks)}
}

func (c *command) synth(d *document.Decoder) document.Keys {
	return document.Merge(c.stacks(d), document.Keys{"exportTemplate": d.Flag(&c.Export)})
}

func (c *command) deploy(d *document.Decoder) document.Keys {
	return document.Merge(c.stacks(d), document.Keys{
		"provisionerIdentifier": provisioner.Identifier(d, &c.Identifier),
		"parameters":            d.Texts(&c.Parameters),
	})
}

// Start has cdk run where the session is.
func (c *command) Start(in step.In) (step.Action, error) {
	app, err := workspace.Below(step.Text(c.App))
	if err != nil {
		return step.Action{}, err
	}
	run, err := c.tool.Run(in)
	if err != nil {
		return step.Action{}, err
	}
	s := Spec{Op: c.op, Run: run, App: app, Stacks: c.Stacks.Value, Options: c.Options.Value, Parameters: c.Parameters.Value, Export: c.Export.Value}
	at := Place{ConnectorRef: step.Text(c.ConnectorRef), Region: step.Text(c.Region), RoleARN: step.Text(c.RoleARN)}
	var by *provision.Provisioner
	if c.op == OpDeploy {
		if by, err = provisioner.Of(c.Identifier); err != nil {
			return step.Action{}, err
		}
	}
	return start(in, s, at, by)
}

// start has a delegate of the session's machine run cdk in the account of a place.
func start(in step.In, s Spec, at Place, by *provision.Provisioner) (step.Action, error) {
	selectors, err := s.reach(in, at)
	if err != nil {
		return step.Action{}, err
	}
	w, err := step.Work(in, s)
	if err != nil {
		return step.Action{}, err
	}
	if by != nil {
		if by.Place, err = json.Marshal(at); err != nil {
			return step.Action{}, fmt.Errorf("encode the place of %s: %w", in.Node, err)
		}
		w.Provisioner = by
	}
	return step.Action{Task: &step.Task{
		Kind: Kind, Payload: w, Selectors: slices.Concat(in.Selectors, selectors), Machine: in.Session.Machine, Tools: []string{tool},
	}}, nil
}

// reach says how the account of a place is reached, and by which delegates.
func (s *Spec) reach(in step.In, at Place) ([]string, error) {
	if at.ConnectorRef == "" {
		if at.RoleARN != "" {
			return nil, fault.New(fault.Invalid, "roleArn needs an awsConnectorRef, whose credentials assume the role").Causing(fault.ConfigurationFailure)
		}
		s.Run.Env = region(s.Run.Env, at.Region)
		return nil, nil
	}
	account, selectors, err := in.AWS(at.ConnectorRef, at.Region)
	if err != nil {
		return nil, err
	}
	if err := assume(&account, at.RoleARN); err != nil {
		return nil, err
	}
	s.AWS = &account
	return selectors, nil
}

// assume has an account's credentials assume a role of the step's.
func assume(account *task.AWS, role string) error {
	if role == "" || role == account.Role {
		return nil
	}
	if account.Role != "" {
		return fault.New(fault.Unsupported, "the connector assumes the role %s already; a second one by roleArn isn't supported: give the step a connector without a role", account.Role).
			Causing(fault.ConfigurationFailure)
	}
	account.Role = role
	return nil
}

// region gives programs a region that no connector does.
func region(env map[string]string, name string) map[string]string {
	if name == "" {
		return env
	}
	out := map[string]string{"AWS_REGION": name, "AWS_DEFAULT_REGION": name}
	maps.Copy(out, env) // the step's own win
	return out
}
