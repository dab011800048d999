package awscdk

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
)

// compare tells how AwsCdkDeploy would change its stacks, by the templates that cdk makes
// of the app. Nothing is deployed or uploaded.
func (j *job) compare(ctx context.Context, options []string) (task.Result, error) {
	if err := j.cdk(ctx, slices.Concat([]string{"synth"}, j.spec.Stacks, []string{"--quiet"}, options)); err != nil {
		return task.Result{}, err
	}
	dir, doc, err := j.assembly(ctx, options)
	if err != nil {
		return task.Result{}, err
	}
	all, err := j.stacks(ctx, dir, doc)
	if err != nil {
		return task.Result{}, err
	}
	all = chosen(all, slices.Concat(j.spec.Stacks, words(options)), !given(options, "--exclusively", "-e"))
	var diff awsdiff.Diff
	for _, one := range all {
		text, err := j.read(ctx, one.template, maxManifest)
		if err != nil {
			return task.Result{}, err
		}
		values, err := one.parameters(text, j.spec.Parameters, options)
		if err != nil {
			return task.Result{}, err
		}
		in, err := j.account(ctx, one)
		if err != nil {
			return task.Result{}, err
		}
		w := awsstack.Wanted{Stack: one.name, Template: string(text), File: one.template, Parameters: values, Beside: len(all) > 1}
		if err := in.Tell(ctx, &diff, w, j.Section); err != nil {
			return task.Result{}, err
		}
	}
	if diff.Empty() {
		j.Say("Nothing would change, as far as the templates say")
	}
	return executor.Succeed(diff.Outputs(j.Say))
}

// words are those of options that may name stacks.
func words(options []string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(o string) bool { return strings.HasPrefix(o, "-") })
}

// chosen are the stacks that cdk deploys by names: all, if they name none; with those
// that they need.
func chosen(all []stack, names []string, needs bool) []stack {
	wanted := map[string]bool{}
	var want func(s stack)
	want = func(s stack) {
		if wanted[s.id] {
			return
		}
		wanted[s.id] = true
		for _, other := range all {
			if needs && slices.Contains(s.needs, other.id) {
				want(other)
			}
		}
	}
	for _, s := range all {
		if slices.ContainsFunc(names, s.is) {
			want(s)
		}
	}
	if len(wanted) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(s stack) bool { return !wanted[s.id] })
}

// parameters are those of a template that a step's values and options name: of all
// stacks, or as STACK:NAME of this one.
func (s stack) parameters(template []byte, values map[string]string, options []string) (map[string]string, error) {
	var has struct {
		Parameters map[string]json.RawMessage `json:"Parameters"`
	}
	if err := decode(s.template, template, &has); err != nil {
		return nil, err
	}
	all := maps.Clone(values)
	if all == nil {
		all = map[string]string{}
	}
	for i, o := range options {
		text, ok := strings.CutPrefix(o, "--parameters=")
		if o == "--parameters" && i+1 < len(options) {
			text, ok = options[i+1], true
		}
		if name, value, pair := strings.Cut(text, "="); ok && pair {
			all[name] = value
		}
	}
	out := map[string]string{}
	for name, value := range all {
		if of, own, ok := strings.Cut(name, ":"); ok && of == s.name {
			name = own
		}
		if has.Parameters[name] != nil {
			out[name] = value
		}
	}
	return out, nil
}

// The parts of an environment that an app leaves open.
const (
	anyAccount = "unknown-account"
	anyRegion  = "unknown-region"
)

// account is where a stack is: the step's, in the region that the app says if it does.
func (j *job) account(ctx context.Context, s stack) (awsstack.Stacks, error) {
	at := task.AWS{Auth: task.AWSInherit, Region: j.spec.Run.Env["AWS_REGION"]} // what cdk finds around it
	if j.spec.AWS != nil {
		at = *j.spec.AWS
	}
	number, region, _ := strings.Cut(strings.TrimPrefix(s.environment, "aws://"), "/")
	if region != "" && region != anyRegion {
		at.Region = region
	}
	access, err := j.accesses.Get(ctx, at, j.work.Execution)
	if err != nil {
		return awsstack.Stacks{}, err
	}
	if number == "" || number == anyAccount {
		return awsstack.In(access, j.pace), nil
	}
	if own := access.Account(ctx); own != "" && own != number {
		return awsstack.Stacks{}, wrong("stack %s is of the account %s, and the step's credentials are of %s: how it would change isn't known", s.id, number, own)
	}
	return awsstack.In(access, j.pace), nil
}
