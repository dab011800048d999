package awscdk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/task"
)

// made is how an app was deployed, by which it can be again. Values that are or
// hold secrets aren't in it.
type made struct {
	Place      steps.Place       `json:"place"`
	App        string            `json:"app,omitempty"`
	Stacks     []string          `json:"stacks,omitempty"`
	Options    []string          `json:"options,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	// Hidden are the parameters whose values aren't kept; Secret says that the
	// options aren't.
	Hidden []string `json:"hidden,omitempty"`
	Secret bool     `json:"secret,omitempty"`
	// Environment are the names of the step's variables.
	Environment []string `json:"environment,omitempty"`
	Commit      string   `json:"commit,omitempty"`
}

// The names of the outputs that tell commits.
const (
	commitOutput = "GIT_COMMIT_ID"
	latestOutput = "LATEST_SUCCESSFUL_PROVISIONING_COMMIT_ID"
)

// deploy has cdk deploy the app, and keeps how.
func (j *job) deploy(ctx context.Context, options []string) (task.Result, error) {
	known, err := j.Env.Provisions(ctx)
	if err != nil {
		return task.Result{}, err
	}
	last, err := read(known.Earlier)
	if err != nil {
		return task.Result{}, err
	}
	now, err := j.wanted()
	if err != nil {
		return task.Result{}, err
	}
	var was before
	if e := known.Earlier; e != nil {
		was.Earlier = &provision.Done{Execution: e.Execution, Status: e.Status, At: e.At, Inputs: e.Inputs}
	}
	if _, err := j.Env.Provision(ctx, provision.Begun, was); err != nil {
		return task.Result{}, err
	}
	return j.apply(ctx, now, options, j.spec.Parameters, last, provision.Applied)
}

// wanted is how the step deploys.
func (j *job) wanted() (made, error) {
	m := made{App: j.spec.App, Stacks: j.spec.Stacks, Parameters: map[string]string{}, Environment: slices.Sorted(maps.Keys(j.spec.Run.Env))}
	var err error
	if m.Place, err = j.place(); err != nil {
		return m, err
	}
	if m.Secret = slices.ContainsFunc(j.spec.Options, j.Env.Hidden); !m.Secret {
		m.Options = j.spec.Options
	}
	for _, name := range slices.Sorted(maps.Keys(j.spec.Parameters)) {
		if j.Env.Hidden(j.spec.Parameters[name]) {
			m.Hidden = append(m.Hidden, name)
		} else {
			m.Parameters[name] = j.spec.Parameters[name]
		}
	}
	return m, nil
}

// place is where the task deploys.
func (j *job) place() (steps.Place, error) {
	var at steps.Place
	if j.work.Provisioner == nil {
		return at, fault.New(fault.Invalid, "the task has no provisionerIdentifier")
	}
	if err := json.Unmarshal(j.work.Provisioner.Place, &at); err != nil {
		return at, fmt.Errorf("read where to deploy: %w", err)
	}
	return at, nil
}

// read reads how an execution has deployed; nil: none has.
func read(done *provision.Done) (*made, error) {
	if done == nil {
		return nil, nil //nolint:nilnil // see above
	}
	var m made
	if err := json.Unmarshal(done.Inputs, &m); err != nil {
		return nil, fmt.Errorf("read how execution %s has deployed: %w", done.Execution, err)
	}
	return &m, nil
}

// outputsFile is the file in the app's folder that gets the outputs of the stacks,
// where the options name no other.
const outputsFile = "cdk-outputs.json"

// maxOutputs bounds the file of outputs that is read, in bytes.
const maxOutputs = 80 << 10

// apply has cdk deploy, tells what came of it, and keeps it. Also what failed tells
// which commit was deployed before, for a rollback.
func (j *job) apply(ctx context.Context, m made, options []string, values map[string]string, last *made, status provision.Status) (task.Result, error) {
	variables := map[string]string{}
	if last != nil && last.Commit != "" {
		variables[latestOutput] = last.Commit
	}
	failed := func(err error) (task.Result, error) {
		doc, encoded := encode(variables, nil)
		return task.Result{Outputs: doc}, cmp.Or(err, encoded)
	}
	args := slices.Concat([]string{"deploy"}, m.Stacks)
	if len(m.Stacks) == 0 && !named(options) && !given(options, "--all") {
		args = append(args, "--all")
	}
	if !given(options, "--require-approval") {
		args = append(args, "--require-approval", "never")
	}
	into := value(options, "--outputs-file", "-O")
	if into == "" {
		into = outputsFile
		args = append(args, "--outputs-file", into)
	}
	if err := j.cdk(ctx, slices.Concat(args, parameters(values), options)); err != nil {
		return failed(err)
	}
	outputs, err := j.outputs(ctx, into)
	if err != nil {
		return failed(err)
	}
	if m.Commit, err = j.commit(ctx); err != nil {
		return failed(err)
	}
	if m.Commit != "" {
		variables[commitOutput] = m.Commit
	}
	if _, err := j.Env.Provision(ctx, status, m); err != nil {
		return failed(err)
	}
	doc, err := encode(variables, outputs)
	return task.Result{Status: task.Succeeded, Outputs: doc}, err
}

// encode makes what expressions read of a step: its variables, and the outputs of
// the stacks, which a stage finds as its provisioner's below "output".
func encode(variables map[string]string, stacks map[string]map[string]any) (json.RawMessage, error) {
	own := map[string]any{}
	for name, outputs := range stacks {
		own[name] = outputs
	}
	own["outputVariables"] = variables
	all := map[string]any{"output": own}
	if stacks != nil {
		all["cdkOutput"] = stacks
	}
	doc, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode the outputs: %w", err)
	}
	return doc, nil
}

// outputs are those of the stacks, by their names.
func (j *job) outputs(ctx context.Context, file string) (map[string]map[string]any, error) {
	if path.IsAbs(file) {
		j.Warn("the outputs of the stacks are in %s, which isn't in the workspace: expressions don't find them", file)
		return nil, nil
	}
	doc, err := j.read(ctx, path.Join(j.spec.App, file), maxOutputs)
	if err != nil || doc == nil {
		return nil, err
	}
	var out map[string]map[string]any
	err = decode(file, doc, &out)
	return out, err
}

// commit is that of the repository in which the app is; empty if it is in none.
func (j *job) commit(ctx context.Context) (string, error) {
	return j.Ask(ctx, j.spec.App, "git", "rev-parse", "HEAD")
}

// rollback has cdk deploy as the last execution before this one did, what is in
// the workspace now. What another execution has deployed since stays.
func (j *job) rollback(ctx context.Context) (task.Result, error) {
	known, err := j.Env.Provisions(ctx)
	if err != nil {
		return task.Result{}, err
	}
	done, since, err := earlier(known)
	if err != nil {
		return task.Result{}, err
	}
	if since != "" {
		j.Say("Nothing is rolled back: execution %s has deployed by the provisioner %s since, and that stays.", since, j.work.Provisioner.Identifier)
		return nothing()
	}
	last, err := read(done)
	if err != nil {
		return task.Result{}, err
	}
	if last == nil {
		j.Say("Nothing to roll back to: no execution has deployed by the provisioner %s with success before this one.", j.work.Provisioner.Identifier)
		return nothing()
	}
	at, err := j.place()
	if err != nil {
		return task.Result{}, err
	}
	if last.Place != at {
		return task.Result{}, wrong("execution %s has deployed by the provisioner %s with %s, and this one with %s: what is to be deployed here isn't known", done.Execution, j.work.Provisioner.Identifier, last.Place, at)
	}
	if last.Secret {
		return task.Result{}, wrong("the commandOptions of execution %s held a secret and aren't kept, so it can't be deployed again as it was: give cdk secrets by envVariables", done.Execution)
	}
	options, err := workspace.Words(last.Options)
	if err != nil {
		return task.Result{}, err
	}
	j.Say("Going back to how execution %s has deployed.", done.Execution)
	j.spec.App = last.App
	if err := j.differs(ctx, *last); err != nil {
		return task.Result{}, err
	}
	return j.apply(ctx, *last, options, last.Parameters, last, provision.RolledBack)
}

// nothing is the end of a rollback that has run nothing.
func nothing() (task.Result, error) {
	return task.Result{Status: task.Succeeded, Outputs: json.RawMessage(`{"output":{}}`)}, nil
}

// before is what an execution finds before it deploys.
type before struct {
	Earlier *provision.Done `json:"earlier,omitempty"` // nil: nobody had deployed
}

// earlier is the deployment to which a rollback leads; nil: there is none. since
// names an execution that has deployed after this one. One that has only taken its
// own deployment back, to what this one had made, counts for nothing.
func earlier(known provision.Known) (done *provision.Done, since string, err error) {
	done = known.Earlier
	if known.Own == nil || done == nil || !done.At.After(known.Own.At) {
		return done, "", nil
	}
	if done.Status != provision.RolledBack || !bytes.Equal(done.Inputs, known.Own.Inputs) {
		return nil, done.Execution, nil
	}
	var was before
	if err := json.Unmarshal(known.Own.Before, &was); err != nil {
		return nil, "", fmt.Errorf("read what was deployed before this execution: %w", err)
	}
	return was.Earlier, "", nil
}

// differs tells in what the deployment won't be as it was.
func (j *job) differs(ctx context.Context, last made) error {
	for _, name := range last.Environment {
		if _, ok := j.spec.Run.Env[name]; !ok {
			j.Warn("the deployment had the variable %s, and this step's envVariables don't have it", name)
		}
	}
	for _, name := range last.Hidden {
		j.Say("The parameter %s keeps the value that it has in its stack: it was hidden or a secret, and isn't kept.", name)
	}
	commit, err := j.commit(ctx)
	if err != nil {
		return err
	}
	if last.Commit != "" && commit != last.Commit {
		j.Warn("the workspace has the commit %s, and %s was deployed then: what is in the workspace is deployed. A step GitClone before this one brings an earlier commit", cmp.Or(commit, "of no repository"), last.Commit)
	}
	return nil
}

// wrong is an error of what a user has written.
func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}
