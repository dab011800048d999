// Package serverless runs the steps of the deployment type ServerlessAwsLambda: it
// has serverless, or osls, package and deploy a service in the workspace of a
// session, and roll it back to the deployment that a stage has found.
//
// Which command lines are meant is said by pkg/swimlane/serverless; how a tool is
// run by delegate/workspace.
package serverless

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The command units of the log.
const (
	unitFiles    = "Setup Directory"
	unitPlugins  = "Plugin"
	unitPrepare  = "Prepare Rollback"
	unitPackage  = "Package"
	unitDeploy   = "Deploy"
	unitRollback = "Rollback"
	unitDiff     = "Diff"
)

// Config is what tasks of Serverless need.
type Config struct {
	Sessions *session.Sessions
	Git      *gitfetch.Fetcher
	Accesses *aws.Accesses
	// Transport sends the requests for artifacts of Artifactory; nil is one with
	// net/http's defaults.
	Transport http.RoundTripper
	// Pace is how often a stack that changes is looked at; nil: awswait.Stack.
	Pace awswait.Pace
	// InstancePoll is how often what was deployed is looked at, see awswait.Watch.
	InstancePoll time.Duration
}

// Kind is what a delegate does for these tasks.
func Kind(cfg Config) executor.Kind {
	return executor.Kind{Do: New(cfg), Watch: awsstack.Watch(cfg.Accesses, lane.Place.Account, cfg.InstancePoll)}
}

// New makes the executor of Serverless' tasks.
func New(cfg Config) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, p, err := executor.Work[lane.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		access, err := cfg.Accesses.Get(ctx, p.Target.AWS, w.Execution)
		if err != nil {
			return task.Result{}, err
		}
		j := &job{cfg: cfg, work: w, spec: p, access: access, stacks: awsstack.In(access, cfg.Pace)}
		j.Tool = workspace.Tool{
			Section: executor.Section{Env: env, Unit: unitFiles}, Sessions: cfg.Sessions, Task: a, Access: access, Spec: p.Run,
			Legacy: map[string]string{"PLUGIN_STAGE": p.Target.Stage},
		}
		r, err := j.run(ctx)
		return j.Ended(ctx, r, err)
	}
}

// job is one task.
type job struct {
	workspace.Tool

	cfg     Config
	work    task.Work
	spec    lane.Spec
	access  *aws.Access
	stacks  awsstack.Stacks
	program string // serverless, by the name that it has
	dir     string // the service's folder in the workspace
	config  string // its file there, if it has another name than the usual ones
	ready   bool   // all that serverless needs is in the folder
}

func (j *job) run(ctx context.Context) (task.Result, error) {
	options, err := workspace.Words(j.spec.Options)
	if err != nil {
		return task.Result{}, err
	}
	if j.spec.Op == lane.OpRollback || j.spec.Op == lane.OpRollbackV2 {
		return j.rollback(ctx)
	}
	if err := j.setUp(ctx); err != nil {
		return task.Result{}, err
	}
	switch j.spec.Op {
	case lane.OpRollback, lane.OpRollbackV2: // see above
	case lane.OpPrepare:
		b, err := j.keep(ctx)
		if err != nil {
			return task.Result{}, err
		}
		return executor.Succeed(b)
	case lane.OpPackage:
		j.In(unitPackage)
		if err := j.serverless(ctx, "package", options...); err != nil {
			return task.Result{}, err
		}
		return executor.Succeed(map[string]any{})
	case lane.OpDeploy, lane.OpDeployV2:
		return j.deploy(ctx, options)
	case lane.OpDiff:
		return j.compare(ctx, options)
	}
	return task.Result{}, fault.New(fault.Unsupported, "this delegate doesn't know the operation %q of Serverless", j.spec.Op)
}

// names are those by which the program is found, the first that is there.
func names() []string { return []string{"serverless", "sls", "osls"} }

// needsKey matches what the Serverless Framework 4 says of its version: it runs for
// those who have a licence.
var needsKey = regexp.MustCompile(`(?m)^\s*(?:Serverless|Framework)[^\n]*\b(?:[4-9]|\d\d)\.\d+\.\d+`)

// accessKey is the variable of the licence.
const accessKey = "SERVERLESS_ACCESS_KEY"

// find finds the program, and refuses one that can't run.
func (j *job) find(ctx context.Context) error {
	i := slices.IndexFunc(names(), func(name string) bool { return j.Sessions.LookPath(name) != "" })
	if i < 0 {
		return fault.New(fault.NotFound, "this delegate's machine has none of %s on its PATH", strings.Join(names(), ", ")).Causing(fault.DelegateProvisioning)
	}
	j.program = names()[i]
	if key := j.Sessions.Variable(accessKey); key != "" {
		j.Env.Mask(key)
		j.Legacy[accessKey] = key
	}
	var said strings.Builder
	if err := j.Do(ctx, workspace.Call{Part: "version", Dir: j.dir, Args: []string{j.program, "--version"}, Out: &said}); err != nil {
		return err
	}
	if version := needsKey.FindString(said.String()); version != "" && j.Legacy[accessKey]+j.Spec.Env[accessKey] == "" {
		return fault.New(fault.Invalid, "%s runs with a licence: set %s in the step's envVariables or in the delegate's environment, or install Serverless 3 or osls there", strings.TrimSpace(version), accessKey).
			Causing(fault.ConfigurationFailure)
	}
	return nil
}

// serverless runs one of the program's commands for the stage.
func (j *job) serverless(ctx context.Context, command string, options ...string) error {
	if err := j.setUp(ctx); err != nil {
		return err
	}
	return j.Do(ctx, workspace.Call{Part: command, Dir: j.dir, Args: j.arguments(options, command)})
}

// quietly runs one and gives what it writes, which isn't in the log unless it fails.
func (j *job) quietly(ctx context.Context, command []string, options ...string) (string, error) {
	if err := j.setUp(ctx); err != nil {
		return "", err
	}
	var out strings.Builder
	err := j.Do(ctx, workspace.Call{Part: strings.Join(command, " "), Dir: j.dir, Args: j.arguments(options, command...), Out: &out, Quiet: true})
	return out.String(), err
}

func (j *job) arguments(options []string, command ...string) []string {
	args := slices.Concat([]string{j.program}, command, []string{"--stage", j.spec.Target.Stage, "--region", j.access.Region})
	if j.config != "" {
		args = append(args, "--config", j.config)
	}
	return append(args, options...)
}

// packaged is a file that a package has.
const packaged = ".serverless/cloudformation-template-update-stack.json"

func (j *job) deploy(ctx context.Context, options []string) (task.Result, error) {
	b, err := j.found(ctx)
	if err != nil {
		return task.Result{}, err
	}
	j.In(unitDeploy)
	isPackaged, err := j.Has(ctx, path.Join(j.dir, packaged))
	if err != nil {
		return task.Result{}, err
	}
	if isPackaged && j.spec.Op == lane.OpDeployV2 && !slices.ContainsFunc(options, func(o string) bool {
		return o == "-p" || o == "--package" || strings.HasPrefix(o, "--package=")
	}) {
		options = append([]string{"--package", ".serverless"}, options...)
	}
	err = j.stacks.Deploy(ctx, j.Env, j.Task, b.Stack, func() error { return j.serverless(ctx, "deploy", options...) })
	if err != nil {
		j.stacks.Explain(ctx, b.Stack, j.Say)
		return task.Result{}, err
	}
	return j.deployed(ctx, b.Stack)
}

// deployed tells what is there now.
func (j *job) deployed(ctx context.Context, stack string) (task.Result, error) {
	now, err := j.stacks.Look(ctx, stack)
	if err != nil {
		return task.Result{}, err
	}
	if now == nil {
		return task.Result{}, fault.New(fault.NotFound, "%s says that it has deployed, and there is no stack %s", j.program, stack).Causing(fault.Unknown)
	}
	timestamp, _, err := j.timestamp(ctx, now)
	if err != nil {
		return task.Result{}, err
	}
	functions, err := j.stacks.Functions(ctx, stack)
	if err != nil {
		return task.Result{}, err
	}
	outputs := map[string]any{"stackName": stack, "timestamp": timestamp, "functions": functions, "outputVariables": awsstack.Outputs(now)}
	return executor.Succeed(outputs, j.stacks.Change(ctx, "applied", stack, j.Say))
}

// stackName is the name of the service's stack, as its configuration says once its
// variables are known.
func (j *job) stackName(ctx context.Context) (string, error) {
	said, err := j.quietly(ctx, []string{"print"}, "--format", "json")
	if err != nil {
		return "", err
	}
	var c struct{ Service, Provider json.RawMessage }
	if at := strings.Index(said, "{"); at < 0 || json.NewDecoder(strings.NewReader(said[at:])).Decode(&c) != nil {
		return "", fault.New(fault.Invalid, "%s print gives no JSON", j.program)
	}
	var provider struct{ StackName string }
	if json.Unmarshal(c.Provider, &provider) == nil && provider.StackName != "" { // else it is the name of one
		return provider.StackName, nil
	}
	var name string
	var service struct{ Name string } // as it was written in earlier versions
	if json.Unmarshal(c.Service, &name) != nil && json.Unmarshal(c.Service, &service) == nil {
		name = service.Name
	}
	if name == "" {
		return "", fault.New(fault.Invalid, "the configuration names no service").Causing(fault.ConfigurationFailure)
	}
	return name + "-" + j.spec.Target.Stage, nil
}
