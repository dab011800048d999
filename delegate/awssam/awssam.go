// Package awssam runs the steps of the deployment type AWS_SAM: it has sam build
// and deploy an application in the workspace of a session, and puts a stack back
// as a stage has found it.
//
// Which command lines are meant is said by pkg/swimlane/awssam; how a tool is run
// by delegate/workspace.
package awssam

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The command units of the log.
const (
	unitBuild    = "Build"
	unitDeploy   = "Deploy"
	unitRollback = "Rollback"
	unitDiff     = "Diff"
)

// Config is what tasks of SAM need.
type Config struct {
	Sessions *session.Sessions
	Accesses *aws.Accesses
	Git      *gitfetch.Fetcher // brings values
	Script   executor.Executor // runs the scripts that bring values
	Sandbox  *sandbox.Sandbox  // renders templates, and knows gotemplate.Verbs
	// Pace is how often a stack that changes is looked at; nil: awswait.Stack.
	Pace awswait.Pace
	// Bucket is where a template is put, for the time of a rollback, that is too large
	// to come with a call; empty: nowhere, and it isn't put back.
	Bucket string
}

// New makes the executor of SAM's tasks.
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
		j := &job{cfg: cfg, task: a, work: w, spec: p, Section: executor.Section{Env: env}, access: access, stacks: awsstack.In(access, cfg.Pace)}
		r, err := j.run(ctx)
		return j.Ended(ctx, r, err)
	}
}

// job is one task.
type job struct {
	executor.Section
	cfg    Config
	task   task.Assignment
	work   task.Work
	spec   lane.Spec
	access *aws.Access
	stacks awsstack.Stacks
}

func (j *job) run(ctx context.Context) (task.Result, error) {
	switch j.spec.Op {
	case lane.OpBuild:
		j.Unit = unitBuild
		return j.build(ctx)
	case lane.OpDeploy:
		j.Unit = unitDeploy
		return j.deploy(ctx)
	case lane.OpRollback:
		j.Unit = unitRollback
		return j.rollback(ctx)
	case lane.OpDiff:
		j.Unit = unitDiff
		return j.compare(ctx)
	}
	return task.Result{}, fault.New(fault.Unsupported, "this delegate doesn't know the operation %q of SAM", j.spec.Op)
}

// application is where an application is in the workspace.
type application struct {
	dir, template string
	options       []string
}

// find finds the application: its folder, and the template in it.
func (j *job) find(ctx context.Context, t *workspace.Tool) (application, error) {
	options, err := workspace.Words(j.spec.Options)
	if err != nil {
		return application{}, err
	}
	names := []string{cmp.Or(j.spec.Run.Env["PLUGIN_SAM_TEMPLATE_FILE_PATH"], j.spec.Target.Application.Template)}
	if names[0] == "" {
		names = []string{"template.yaml", "template.yml", "template.json"}
	}
	folders := workspace.Folders(j.spec.Target.Application.Manifest)
	for _, dir := range folders {
		for _, name := range names {
			found, err := t.Has(ctx, path.Join(dir, name))
			if err != nil {
				return application{}, err
			}
			if found {
				t.Legacy["PLUGIN_SAM_TEMPLATE_FILE_PATH"] = name
				return application{dir, name, options}, nil
			}
		}
	}
	return application{}, fault.New(fault.NotFound, "the workspace has no %s in %s; is a step DownloadManifests before this one?", strings.Join(names, ", "), folders[0]).
		Causing(fault.ConfigurationFailure)
}

func (j *job) tool() *workspace.Tool {
	return &workspace.Tool{
		Sessions: j.cfg.Sessions, Task: j.task, Section: j.Section, Access: j.access, Spec: *j.spec.Run,
		Legacy: map[string]string{"PLUGIN_STACK_NAME": j.spec.Stack},
	}
}

// given says whether one of the options is among a command's.
func given(options []string, names ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		name, _, _ := strings.Cut(o, "=")
		return slices.Contains(names, name)
	})
}

func (j *job) build(ctx context.Context) (task.Result, error) {
	t := j.tool()
	app, err := j.find(ctx, t)
	if err != nil {
		return task.Result{}, err
	}
	if err := j.containers(ctx, t, app); err != nil {
		return task.Result{}, err
	}
	if err := j.render(ctx, t, app); err != nil {
		return task.Result{}, err
	}
	logout, err := j.login(ctx, t)
	if err != nil {
		return task.Result{}, err
	}
	defer logout()
	if err := t.Run(ctx, app.dir, slices.Concat([]string{"sam", "build", "--template-file", app.template}, app.options)...); err != nil {
		return task.Result{}, err
	}
	return executor.Succeed(map[string]any{})
}

// containers refuses a build in containers where there is no Docker, by whatever it is
// asked for.
func (j *job) containers(ctx context.Context, t *workspace.Tool, app application) error {
	if j.cfg.Sessions.LookPath("docker") != "" {
		return nil
	}
	by := ""
	if given(app.options, "--use-container", "-u") {
		by = "--use-container"
	} else if said, err := j.settings(ctx, t, app, "build"); err != nil {
		return err
	} else if said.on("use_container") {
		by = "use_container of " + said.file
	}
	if by == "" {
		return nil
	}
	return fault.New(fault.Invalid, "%s needs Docker, and this delegate's machine has none: install Docker there, or leave the option out and install what builds the functions", by).
		Causing(fault.ConfigurationFailure)
}

// built is where sam puts the template of what it has built.
const built = ".aws-sam/build/template.yaml"

func (j *job) deploy(ctx context.Context) (task.Result, error) {
	if j.spec.Stack == "" {
		return task.Result{}, fault.New(fault.Invalid, "stackName is empty").Causing(fault.ConfigurationFailure)
	}
	t := j.tool()
	app, err := j.find(ctx, t)
	if err != nil {
		return task.Result{}, err
	}
	if err := j.render(ctx, t, app); err != nil {
		return task.Result{}, err
	}
	if err := j.keep(ctx); err != nil {
		return task.Result{}, err
	}
	args := []string{"sam", "deploy"}
	isBuilt, err := t.Has(ctx, path.Join(app.dir, built))
	if err != nil {
		return task.Result{}, err
	}
	if !isBuilt && !given(app.options, "--template-file", "--template", "-t") {
		args = append(args, "--template-file", app.template)
	}
	args = append(args, "--stack-name", j.spec.Stack, "--region", j.access.Region, "--no-confirm-changeset", "--no-fail-on-empty-changeset")
	said, err := j.settings(ctx, t, app, "deploy")
	if err != nil {
		return task.Result{}, err
	}
	if !said.has("s3_bucket", "resolve_s3") && !given(app.options, "--s3-bucket", "--resolve-s3", "--no-resolve-s3") {
		args = append(args, "--resolve-s3")
	}
	if !said.has("capabilities") && !given(app.options, "--capabilities") {
		args = append(args, "--capabilities", "CAPABILITY_IAM")
	}
	logout, err := j.login(ctx, t)
	if err != nil {
		return task.Result{}, err
	}
	defer logout()
	err = j.stacks.Deploy(ctx, j.Env, j.task, j.spec.Stack, func() error { return t.Run(ctx, app.dir, slices.Concat(args, app.options)...) })
	if err != nil {
		j.stacks.Explain(ctx, j.spec.Stack, j.Say)
		return task.Result{}, err
	}
	now, err := j.stacks.Look(ctx, j.spec.Stack)
	if err != nil {
		return task.Result{}, err
	}
	if now == nil {
		return task.Result{}, fault.New(fault.NotFound, "sam says that it has deployed stack %s, and there is none", j.spec.Stack).Causing(fault.Unknown)
	}
	outputs := map[string]any{"stackId": sdk.ToString(now.StackId), "stackStatus": string(now.StackStatus), "outputVariables": awsstack.Outputs(now)}
	return executor.Succeed(outputs, j.stacks.Change(ctx, "applied", j.spec.Stack, j.Say))
}
