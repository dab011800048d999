// Package helm runs the native Helm steps with Helm's own library: releases
// are installed, upgraded, rolled back and uninstalled as the helm command
// does, hooks and history included (semantics/kubernetes §19).
//
// It decides nothing about pipelines. What it must remember between steps is
// in the labels of Helm's own records, so a retry or another delegate can go
// on. How charts are read is delegate/helm/chart's, and how workloads are
// followed is delegate/kubernetes's.
package helm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/kube"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// The command units of the log (semantics/kubernetes §1.1).
const (
	unitFetch    = "Fetch Files"
	unitInit     = "Init"
	unitPrepare  = "Prepare"
	unitChange   = "Install/Upgrade"
	unitSteady   = "Wait for Steady State"
	unitWrapUp   = "Wrap Up"
	unitRollback = "Rollback"
	unitDelete   = "Delete"
	unitSwap     = "Swap Service Selectors"
)

// New makes the executor of Helm tasks. Fetched repositories are apart from
// those of other executors: a Fetcher has its folder for itself. The sandbox
// knows this package's Verbs, too.
func New(cfg kubernetes.Config) executor.Executor {
	clusters := &kubernetes.Clusters{}
	git, charts := gitfetch.New(filepath.Join(cfg.Cache, "helm", "git"), cfg.HostKeys), chart.NewRepos(filepath.Join(cfg.Cache, "charts"))
	if cfg.Sandbox == nil {
		cfg.Sandbox = sandbox.New(0)
	}
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, p, err := executor.Work[nativehelm.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		s := &session{work: w, p: p, env: env, git: git, charts: charts, sandbox: cfg.Sandbox, extract: manifest.NewExtractor(cfg.Script, a, env, unitFetch)}
		if p.Op != nativehelm.OpDescribe {
			if s.cluster, err = clusters.Foreign(w, p.Target, env); err != nil {
				return task.Result{}, err
			}
		}
		return s.run(ctx)
	}
}

// session is one task.
type session struct {
	work    task.Work
	p       nativehelm.Spec // its spec
	env     executor.Env
	cluster *kubernetes.Foreign // nil for what needs none
	git     *gitfetch.Fetcher
	charts  *chart.Repos
	extract *manifest.Extractor
	sandbox *sandbox.Sandbox
	has     *common.Capabilities // of the cluster; nil until it is asked
}

// outputs is what expressions read below the step (semantics/kubernetes §18).
type outputs map[string]any

func (s *session) result(out outputs, changes ...task.Change) (task.Result, error) {
	out["releaseName"] = s.p.Target.ReleaseName
	return executor.Succeed(out, changes...)
}

// run does the task. What the cluster or the chart refuses is a failure, not
// an error: we did find out.
func (s *session) run(ctx context.Context) (task.Result, error) {
	r, err := s.operate(ctx)
	if failure := executor.Refusal(ctx, r, err); failure != nil {
		say(s.env.LogError(unitWrapUp), "%s", err)
		return *failure, nil
	}
	return r, err
}

func (s *session) operate(ctx context.Context) (task.Result, error) {
	if s.p.Op == nativehelm.OpDescribe { // a chart, which belongs to no release
		return s.describe(ctx)
	}
	if err := util.ValidateReleaseName(s.p.Target.ReleaseName); err != nil {
		return task.Result{}, fault.New(fault.Invalid, "invalid release name %q: %w", s.p.Target.ReleaseName, err)
	}
	if err := s.version(); err != nil {
		return task.Result{}, err
	}
	operations := map[nativehelm.Op]func(context.Context) (task.Result, error){
		nativehelm.OpDeploy: s.deploy, nativehelm.OpRollback: s.rollback, nativehelm.OpDelete: s.remove,
		nativehelm.OpCanary: s.canary, nativehelm.OpCanaryDelete: s.canaryDelete,
		nativehelm.OpBlueGreen: s.blueGreen, nativehelm.OpSwap: s.swap,
	}
	if do := operations[s.p.Op]; do != nil {
		return do(ctx)
	}
	return task.Result{}, fault.New(fault.Unsupported, "the operation %q isn't known to this delegate; it may be older than the control plane", s.p.Op)
}

// configure readies Helm for the target, with its log going to a unit.
func (s *session) configure(unit string) (*action.Configuration, error) {
	log := s.env.Log(unit)
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(chart.Logger(log)))
	if err := cfg.Init(getter{s.cluster}, s.p.Target.Namespace, s.p.Environment[nativehelm.Driver]); err != nil {
		return nil, fault.New(fault.Invalid, "where Helm keeps its releases: %w", err)
	}
	if client, ok := cfg.KubeClient.(*kube.Client); ok {
		client.Namespace, client.Factory = s.p.Target.Namespace, factory{client.Factory, s.cluster}
	}
	cfg.SetHookOutputFunc(func(_, _, _ string) io.Writer { return log })
	return cfg, nil
}

// source reads the task's chart and values.
func (s *session) source() manifest.Source {
	source := manifest.Source{
		Git: s.git, Stage: s.work.Execution + s.work.Stage, Resolve: s.env.Resolve, Files: s.env.Files,
		Dir: s.env.Dir, Log: s.env.Log(unitFetch), Extract: s.extract,
		Places: manifest.Places(s.p.Target.Manifest, s.p.Target.Values),
	}
	if s.p.FlagsNameFiles() {
		return source.Needs(s.p.Target.Manifest)
	}
	return source
}

// unlimited is the time of an operation in a task without a deadline.
const unlimited = time.Hour

// timeout is how long one of Helm's operations may take: what a flag says, or
// the rest of the task's time.
func timeout(ctx context.Context, flags origin.HelmFlags) time.Duration {
	if flags.Timeout > 0 {
		return flags.Timeout
	}
	if end, ok := ctx.Deadline(); ok {
		return time.Until(end)
	}
	return unlimited
}

// waiting is how Helm itself waits: for hooks only, unless a flag says more.
// The steady state is ours to wait for (semantics/kubernetes §19.1).
func waiting(ctx context.Context, flags origin.HelmFlags) (kube.WaitStrategy, []kube.WaitOption) {
	strategy := kube.HookOnlyStrategy
	if flags.Wait != "" {
		strategy = kube.WaitStrategy(flags.Wait)
	}
	return strategy, []kube.WaitOption{kube.WithWaitContext(ctx), kube.WithStatusComputeWorkers(statusWorkers)}
}

// statusWorkers keep Helm's watches going while statuses are worked out; as
// many as the helm command has.
const statusWorkers = 8

// refused is an error of Helm's with its failure types.
func refused(err error) error {
	if err == nil {
		return nil
	}
	classified := applying.Classify(err)
	var known *fault.Error
	if errors.As(classified, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return classified
	}
	return fault.New(fault.Invalid, "helm: %w", err).Causing(fault.Unknown)
}

// say writes a line to a log. A log that can't be written is the agent's to
// report; the work goes on.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...) // see above
}
