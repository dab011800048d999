package awssam

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// compare tells how AwsSamDeploy would change the stack, by the application's template
// as it is before it is built. Nothing of the application is run.
func (j *job) compare(ctx context.Context) (task.Result, error) {
	if j.spec.Stack == "" {
		return task.Result{}, fault.New(fault.Invalid, "stackName is empty").Causing(fault.ConfigurationFailure)
	}
	from := workspace.Config{Sessions: j.cfg.Sessions, Git: j.cfg.Git, Accesses: j.cfg.Accesses}
	if err := workspace.Bring(ctx, from, j.work, j.Env, j.spec.Run.Session, j.spec.Target.Application.Manifest); err != nil {
		return task.Result{}, err
	}
	t := j.tool()
	app, err := j.find(ctx, t)
	if err != nil {
		return task.Result{}, err
	}
	if err := j.render(ctx, t, app); err != nil {
		return task.Result{}, err
	}
	if other := cmp.Or(value(app.options, "--template-file"), value(app.options, "--template"), value(app.options, "-t")); other != "" {
		found, err := t.Has(ctx, path.Join(app.dir, other))
		if err != nil {
			return task.Result{}, err
		}
		if found { // else a build makes it
			app.template = other
		}
	}
	text, err := workspace.Read(ctx, j.cfg.Sessions, j.spec.Run.Session, path.Join(app.dir, app.template), maxTemplate)
	if err != nil {
		return task.Result{}, err
	}
	j.Say("Where sam puts code isn't known before it is built, so code isn't compared.")
	outputs, err := j.stacks.Compare(ctx, awsstack.Wanted{Stack: j.spec.Stack, Template: string(text), File: path.Join(app.dir, app.template), Parameters: overrides(app.options)}, j.Section)
	if err != nil {
		return task.Result{}, err
	}
	return executor.Succeed(outputs)
}

// value is that of an option; empty: it isn't given.
func value(options []string, name string) string {
	for i, o := range options {
		if v, ok := strings.CutPrefix(o, name+"="); ok {
			return v
		}
		if o == name && i+1 < len(options) {
			return options[i+1]
		}
	}
	return ""
}

// overrides are the parameters that options give values, in either of sam's forms.
func overrides(options []string) map[string]string {
	out, within := map[string]string{}, false
	for _, o := range options {
		switch first, ok := strings.CutPrefix(o, "--parameter-overrides="); {
		case ok:
			o, within = first, true
		case o == "--parameter-overrides":
			within = true
			continue
		case strings.HasPrefix(o, "-"):
			within = false
		}
		if !within {
			continue
		}
		for _, one := range strings.Fields(o) {
			key, value, ok := strings.Cut(one, "=")
			if long, is := strings.CutPrefix(one, "ParameterKey="); is {
				key, value, ok = strings.Cut(long, ",ParameterValue=")
			}
			if ok {
				out[key] = value
			}
		}
	}
	return out
}
