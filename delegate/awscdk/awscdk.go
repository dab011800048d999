// Package awscdk runs the steps of the AWS CDK: it has cdk work on an app in the
// workspace of a session, and keeps what was deployed, so that a rollback can
// deploy it again.
//
// Which command lines are meant is said by pkg/provisioner/awscdk; how a tool is
// run by delegate/workspace.
package awscdk

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/task"
)

// unit is the command unit of the log of an operation.
func unit(op steps.Op) string {
	switch op {
	case steps.OpBootstrap:
		return "Bootstrap"
	case steps.OpDiff:
		return "Diff"
	case steps.OpSynth:
		return "Synth"
	case steps.OpDeploy:
		return "Deploy"
	case steps.OpDestroy:
		return "Destroy"
	case steps.OpRollback:
		return "Rollback"
	case steps.OpCompare:
		return "Diff"
	}
	return "Execute"
}

// Config is what tasks of the CDK need.
type Config struct {
	Sessions *session.Sessions
	Accesses *aws.Accesses
	// Pace is how often a task asks whether it is its turn; nil: awswait.Stack.
	Pace awswait.Pace
}

// New makes the executor of the CDK's tasks.
func New(cfg Config) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, p, err := executor.Work[steps.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		j := &job{accesses: cfg.Accesses, pace: cfg.Pace, work: w, spec: p, Tool: workspace.Tool{
			Sessions: cfg.Sessions, Task: a, Section: executor.Section{Env: env, Unit: unit(p.Op)}, Spec: p.Run,
			Legacy: map[string]string{"CDK_DISABLE_CLI_TELEMETRY": "true"},
		}}
		if p.AWS != nil {
			if j.Access, err = cfg.Accesses.Get(ctx, *p.AWS, w.Execution); err != nil {
				return task.Result{}, err
			}
		}
		r, err := j.run(ctx)
		return j.Ended(ctx, r, err)
	}
}

// job is one task.
type job struct {
	workspace.Tool
	accesses *aws.Accesses
	pace     awswait.Pace
	work     task.Work
	spec     steps.Spec
}

func (j *job) run(ctx context.Context) (task.Result, error) {
	options, err := workspace.Words(j.spec.Options)
	if err != nil {
		return task.Result{}, err
	}
	if err := awsstack.Turn(ctx, &j.Section, j.work.Provisioner, j.pace); err != nil {
		return task.Result{}, err
	}
	switch j.spec.Op {
	case steps.OpBootstrap:
		err = j.cdk(ctx, slices.Concat([]string{"bootstrap"}, options))
	case steps.OpDestroy:
		err = j.cdk(ctx, slices.Concat([]string{"destroy"}, j.spec.Stacks, []string{"--force"}, options))
	case steps.OpDiff:
		return j.diff(ctx, options)
	case steps.OpSynth:
		return j.synth(ctx, options)
	case steps.OpDeploy:
		return j.deploy(ctx, options)
	case steps.OpRollback:
		return j.rollback(ctx)
	case steps.OpCompare:
		return j.compare(ctx, options)
	default:
		return task.Result{}, fault.New(fault.Unsupported, "this delegate doesn't know the operation %q of the CDK", j.spec.Op)
	}
	if err != nil {
		return task.Result{}, err
	}
	return executor.Succeed(struct{}{})
}

// cdk runs a command of cdk in the app's folder.
func (j *job) cdk(ctx context.Context, args []string) error {
	err := j.Run(ctx, j.spec.App, slices.Concat([]string{"cdk"}, args)...)
	if err != nil && ctx.Err() != nil {
		j.Say("What CloudFormation has begun goes on.")
	}
	return err
}

// read reads a file of the workspace; nil if there is none.
func (j *job) read(ctx context.Context, name string, most int64) ([]byte, error) {
	doc, err := workspace.Read(ctx, j.Sessions, j.Spec.Session, name, most)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return doc, err
}

// given says whether one of the options is among a command's.
func given(options []string, names ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		name, _, _ := strings.Cut(o, "=")
		return slices.Contains(names, name)
	})
}

// value is that of an option, as it stands after it or behind its '='.
func value(options []string, names ...string) string {
	for i, o := range options {
		name, v, joined := strings.Cut(o, "=")
		switch {
		case !slices.Contains(names, name):
		case joined:
			return v
		case i+1 < len(options):
			return options[i+1]
		}
	}
	return ""
}

// named says whether options may name stacks: a word that is neither an option nor
// a pair of name and value may be one.
func named(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return !strings.HasPrefix(o, "-") && !strings.Contains(o, "=") })
}

// parameters are those of stacks, as options.
func parameters(all map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, "--parameters", name+"="+all[name])
	}
	return out
}
