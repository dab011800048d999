package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// The command units of the log (semantics/kubernetes §1.1).
const (
	unitFetch      = "Fetch Files"
	unitInitialize = "Initialize"
	unitPrepare    = "Prepare"
	unitApply      = "Apply"
	unitPrune      = "Prune"
	unitSteady     = "Wait for Steady State"
	unitWrapUp     = "Wrap Up"
	unitRollback   = "Rollback"
	unitSwap       = "Swap Service Selectors"
	unitScale      = "Scale"
	unitDelete     = "Delete"
	unitDiff       = "Diff"
	unitPatch      = "Patch"
	unitRollout    = "Rollout"
	unitTraffic    = "Traffic Routing"
)

// Config is what Kubernetes tasks need.
type Config struct {
	Cache    string            // the folder of fetched repositories
	Script   executor.Executor // runs the scripts that bring manifests
	Sandbox  *sandbox.Sandbox  // renders, and knows Verbs; nil: one of its own
	HostKeys gitfetch.HostKeys
}

// New makes the executor of Kubernetes tasks.
func New(cfg Config) executor.Executor {
	known := &applying.Clusters{}
	git, charts := gitfetch.New(filepath.Join(cfg.Cache, "git"), cfg.HostKeys), chart.NewRepos(filepath.Join(cfg.Cache, "charts"))
	if cfg.Sandbox == nil {
		cfg.Sandbox = sandbox.New(0)
	}
	seed := newSeed()
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, p, err := executor.Work[lane.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		c, err := known.Get(p.Target.Cluster)
		if err != nil {
			return task.Result{}, err
		}
		s := newSession(w, p, env, &client{c})
		s.renderer.git, s.renderer.charts, s.renderer.seed, s.renderer.sandbox = git, charts, seed, cfg.Sandbox
		s.renderer.extract = manifest.NewExtractor(cfg.Script, a, env, unitFetch)
		return s.run(ctx)
	}
}

// client is the cluster of a task, with what steps ask of one.
type client struct{ *applying.Cluster }

// session is one task: what each operation does, in its order. What it is made
// of has what it needs of the task, and no more.
type session struct {
	work     task.Work
	p        lane.Spec // its spec
	env      executor.Env
	client   *client
	renderer *renderer
	applier  *applier
	lookout  *lookout
	kubectl  *kubectl
	history  *history
	network  *network
	pruner   *pruner
	// taken are numbers of releases that turned out to be somebody else's.
	taken map[int]bool
}

// newSession puts a task's session together; what brings manifests is still
// missing.
func newSession(w task.Work, p lane.Spec, env executor.Env, c *client) *session {
	l := &lookout{client: c, env: env, p: p}
	a := &applier{client: c, env: env, p: p, lookout: l}
	return &session{
		work: w, p: p, env: env, client: c, lookout: l, applier: a,
		renderer: &renderer{client: c, work: w, p: p, env: env},
		kubectl:  &kubectl{client: c, work: w, p: p, applier: a, lookout: l},
		history:  &history{client: c, work: w, p: p, applier: a},
		network:  &network{client: c, work: w, p: p, env: env, applier: a},
		pruner:   &pruner{client: c, p: p, env: env, applier: a},
	}
}

// author is what a workload is annotated with by a step whose effect another
// try of it would double.
func (k *kubectl) author() string { return k.work.Execution + " " + k.work.Step }

// outputs is what expressions read below the step (semantics/kubernetes §18).
type outputs map[string]any

// done is the result of a step that did what it should.
func (s *session) done(out outputs, changes ...task.Change) (task.Result, error) {
	if out == nil {
		out = outputs{}
	}
	out["releaseName"] = s.p.Target.ReleaseName
	if s.renderer.number > 0 {
		out["releaseNumber"] = s.renderer.number
	}
	return executor.Succeed(out, changes...)
}

// run does the task. What the cluster or the manifests refuse is a failure,
// not an error: we did find out.
func (s *session) run(ctx context.Context) (task.Result, error) {
	r, err := s.operate(ctx)
	if failure := executor.Refusal(ctx, r, err); failure != nil {
		s.say(s.env.LogError(unitWrapUp), "%s", err)
		return *failure, nil
	}
	return r, err
}

// maxTries bounds how often a release's number is looked for.
const maxTries = 20

func (s *session) operate(ctx context.Context) (task.Result, error) {
	var err error
	if s.applier.flags, err = lane.ParseFlags(s.p.Op, s.p.CommandFlags); err != nil {
		return task.Result{}, err
	}
	switch s.p.Op {
	case lane.OpRolling:
		return s.numbered(ctx, s.rolling)
	case lane.OpRollingRollback:
		return s.rollingRollback(ctx)
	case lane.OpCanary:
		if s.p.TargetPercentage > 0 {
			return s.numbered(ctx, s.progressive)
		}
		return s.numbered(ctx, s.canary)
	case lane.OpProgressiveRollback:
		return s.progressiveRollback(ctx)
	case lane.OpCanaryDelete:
		return s.canaryDelete(ctx)
	case lane.OpBlueGreen:
		return s.numbered(ctx, s.blueGreen)
	case lane.OpSwap:
		return s.swap(ctx)
	case lane.OpScale:
		return s.scale(ctx)
	case lane.OpDelete:
		return s.remove(ctx)
	case lane.OpApply:
		return s.applyStep(ctx)
	case lane.OpDryRun:
		return s.dryRunStep(ctx)
	case lane.OpDiff:
		return s.diffStep(ctx)
	case lane.OpPatch:
		return s.patchStep(ctx)
	case lane.OpRollout:
		return s.rolloutStep(ctx)
	case lane.OpTrafficRouting:
		return s.trafficStep(ctx)
	case lane.OpStageScaleDown:
		return s.stageScaleDown(ctx)
	case lane.OpStageScaleUp:
		return s.stageScaleUp(ctx)
	}
	return task.Result{}, fault.New(fault.Unsupported, "the operation %s isn't known to this delegate", s.p.Op)
}

// numbered does a step that makes a release, again if its number has been
// taken meanwhile: two pipelines may share a release name. Nothing is applied
// before the number is ours.
func (s *session) numbered(ctx context.Context, step func(context.Context) (task.Result, error)) (task.Result, error) {
	if err := checkRelease(s.p.Target.ReleaseName); err != nil {
		return task.Result{}, err
	}
	for range maxTries {
		r, err := step(ctx)
		if !errors.Is(err, errTaken) {
			return r, err
		}
		if s.taken == nil {
			s.taken = map[int]bool{}
		}
		s.taken[s.renderer.number] = true
	}
	return task.Result{}, fault.New(fault.Conflict, "no number for a release of %s was free in %d tries", s.p.Target.ReleaseName, maxTries)
}

// checkRelease says whether a release name can be a label and part of a name.
func checkRelease(name string) error {
	problems := append(validation.IsValidLabelValue(name), validation.IsDNS1123Subdomain(name)...)
	if len(problems) > 0 {
		return fault.New(fault.Invalid, "the release name %q can't be used: %s", name, problems[0])
	}
	return nil
}

// say writes a line to a log. A log that can't be written is the agent's to
// report; the work goes on.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...) // see above
}

func (s *session) say(w io.Writer, format string, args ...any) { say(w, format, args...) }

// manifests fetches and renders what the service deploys, without the files
// that ask to be skipped.
func (r *renderer) manifests(ctx context.Context) ([]*unstructured.Unstructured, error) {
	m := r.p.Target.Manifest
	if objects, ok, err := r.built(ctx, m, nil, nil); ok {
		if err != nil {
			return nil, err
		}
		return r.placed(objects)
	}
	files, err := r.source().Fetch(ctx, m)
	if err != nil {
		return nil, err
	}
	values, err := r.source().Values(ctx, m, files, r.p.Target.Values)
	if err != nil {
		return nil, err
	}
	return r.renderAll(ctx, files.Manifests, values)
}

func (r *renderer) renderAll(ctx context.Context, files []manifest.File, values map[string]any) ([]*unstructured.Unstructured, error) {
	files = slices.DeleteFunc(slices.Clone(files), func(f manifest.File) bool { return skipped(f) || isValues(r.p.Target.Manifest, f) })
	objects, err := r.render(ctx, files, values, false)
	if err != nil {
		return nil, err
	}
	return r.placed(objects)
}

// placed gives rendered objects their namespaces and the order of apply.
func (r *renderer) placed(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if err := r.place(objects); err != nil {
		return nil, err
	}
	log := r.env.Log(unitInitialize)
	for _, o := range objects {
		say(log, "Rendered %s", display(o))
	}
	return sorted(objects), nil
}

// isValues says whether a file is one of the listed values files, which are
// no manifests.
func isValues(m *origin.Manifest, f manifest.File) bool {
	root := func(p string) string { return path.Clean("/" + p) }
	return f.Place != "" && slices.ContainsFunc(m.ValuesPaths, func(p string) bool { return root(p) == root(f.Place) })
}

// changed is the ledger's entry of what was put into the target.
func (s *session) changed(action string, objects []*unstructured.Unstructured, instances []task.Instance) task.Change {
	c := task.Change{
		Target: "kubernetes:" + s.p.Target.Namespace + "/" + s.p.Target.ReleaseName, Action: action, Instances: instances,
		Workloads: workloads(objects), Whole: s.p.Op == lane.OpRolling || s.p.Op == lane.OpRollingRollback && len(objects) > 0,
	}
	if s.renderer.number > 0 {
		c.Revision = fmt.Sprint(s.renderer.number)
	}
	for _, o := range objects {
		c.Resources = append(c.Resources, resourceName(o))
	}
	return c
}
