// Package errands does what GitOps steps of pipelines ask of GitOps agents, by way of
// the control plane: it has applications found and synced, and waits for their ends
// (semantics/gitops §17).
//
// It reaches no cluster and no agent itself. Whatever it asks for comes to the same if
// it is asked for again, so that a task whose delegate was lost is done again.
package errands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Pace is between two looks at what agents report: the first ones, and the last.
type Pace struct{ First, Last time.Duration }

// Usual is the pace where nobody says another.
func Usual() Pace { return Pace{First: time.Second, Last: 5 * time.Second} }

// The command units of the log.
const (
	unitFetch   = "Fetch apps"
	unitRefresh = "Refresh"
	unitSync    = "Sync"
	unitWait    = "Wait"
)

// mostSet bounds a file with application sets, in bytes.
const mostSet = 1 << 20

// New makes the executor of tasks about applications.
func New(git *gitfetch.Fetcher, pace Pace) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, spec, err := executor.Work[errand.Applications](a)
		if err != nil {
			return task.Result{}, err
		}
		j := &job{git: git, env: env, of: w.Execution + "/" + string(w.Stage), spec: spec, pace: pace, within: a.Timeout}
		var r task.Result
		switch spec.Op {
		case errand.OpFetch:
			r, err = j.fetch(ctx)
		case errand.OpSync, errand.OpRollback:
			r, err = j.operate(ctx)
		case errand.OpDetails:
			r, err = j.details(ctx)
		case errand.OpUpdateApp:
			r, err = j.update(ctx)
		case errand.OpRollout:
			r, err = j.rollout(ctx)
		default:
			return task.Result{}, fault.New(fault.Unsupported, "this delegate, of an older version, can't do %s", spec.Op)
		}
		if refused := executor.Refusal(ctx, r, err); refused != nil {
			return *refused, nil
		}
		return r, err
	}
}

// job is a task under way.
type job struct {
	git    *gitfetch.Fetcher
	env    executor.Env
	of     string // the stage, whose tasks all see one commit
	spec   errand.Applications
	sets   []string // the names of the service's application sets
	pace   Pace
	within time.Duration
}

// ask asks the control plane, by the service's application sets.
func (j *job) ask(ctx context.Context, q errand.Ask) (errand.Answer, error) {
	q.Sets = j.sets
	return j.env.Errand(ctx, q)
}

// say writes a line of the log.
func (j *job) say(unit, format string, args ...any) {
	_, _ = fmt.Fprintf(j.env.Log(unit), format+"\n", args...) // a log that can't be written is the agent's to tell
}

// warn writes a line that people should see.
func (j *job) warn(unit, format string, args ...any) {
	_, _ = fmt.Fprintf(j.env.LogError(unit), format+"\n", args...) // likewise
}

// find asks which applications are meant, and tells.
func (j *job) find(ctx context.Context) ([]errand.App, error) {
	var clusters []string
	for _, c := range j.spec.Stage.Clusters {
		clusters = append(clusters, c.Identifier+" of agent "+c.Agent)
	}
	j.say(unitFetch, "Identified %d cluster(s): %s", len(clusters), strings.Join(clusters, ", "))
	if err := j.link(ctx); err != nil {
		return nil, err
	}
	found, err := j.ask(ctx, errand.Ask{Do: errand.DoFind})
	if err != nil {
		return nil, err
	}
	for _, why := range found.Left {
		j.say(unitFetch, "Left out: %s", why)
	}
	for _, one := range found.Apps {
		j.say(unitFetch, "Found linked app: %s. Link - %s", one.Name, page(one))
	}
	return found.Apps, nil
}

// link reads which application sets are the service's.
func (j *job) link(ctx context.Context) error {
	if j.spec.Sets == nil {
		return nil
	}
	for _, path := range j.spec.Sets.Git.Paths {
		one := j.spec.Sets.Git
		one.Paths = []string{path}
		text, err := j.git.File(ctx, one, j.of, mostSet)
		if err != nil {
			return err
		}
		objects, err := manifest.Objects(path, string(text), manifest.Decode)
		if err != nil {
			return err
		}
		before := len(j.sets)
		for _, o := range objects {
			if o.GetKind() == "ApplicationSet" && !slices.Contains(j.sets, o.GetName()) {
				j.sets = append(j.sets, o.GetName())
				j.say(unitFetch, "App set Name: %s", o.GetName())
			}
		}
		if len(j.sets) == before {
			j.warn(unitFetch, "%s has no ApplicationSet of its own", path)
		}
	}
	return nil
}

// page is where the API has an application.
func page(a errand.App) string { return "/v1/gitops/applications/" + a.Agent + "/" + a.Name }

// fetch finds the applications and says how they are.
func (j *job) fetch(ctx context.Context) (task.Result, error) {
	found, err := j.find(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if len(found) == 0 {
		j.warn(unitFetch, "No application of service %s is on these clusters.", j.spec.Stage.Service)
	}
	return done(found)
}

// done is a result with what expressions read of applications.
func done(apps []errand.App) (task.Result, error) {
	var out errand.Done
	out.GitOps.Applications = []errand.Seen{}
	for _, a := range apps {
		one := errand.Seen{Name: a.Name, Agent: a.Agent, URL: page(a), App: a.Document}
		if s := a.Summary; s != nil {
			one.Sync, one.Health, one.Revision = s.Sync.Status, s.Health.Status, s.Sync.Revision
			for _, rollout := range s.Rollouts {
				namespace, name, _ := strings.Cut(rollout, "/")
				out.GitOps.Rollouts = append(out.GitOps.Rollouts, errand.DiscoveredRollout{Agent: a.Agent, Application: a.Name, Rollout: name, Namespace: namespace})
			}
		}
		out.GitOps.Applications = append(out.GitOps.Applications, one)
	}
	return outputs(out)
}
