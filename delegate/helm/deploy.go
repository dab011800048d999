package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// deployment is what a deploy step is about to do.
type deployment struct {
	name     string // of the Helm release
	cfg      *action.Configuration
	chart    *v2.Chart
	folder   string // of the chart, with its dependencies
	values   map[string]any
	history  history
	previous *release.Release // the last good one; nil for none
	install  bool
	replace  bool // a name whose history has ended
	flags    origin.HelmFlags
	before   []task.Instance
	shown    string // what the chart renders, tests aside
	// aside makes of what the chart renders what stands beside the release that
	// serves, whose hooks have run; nil for that release itself.
	aside func(rendered string) (kubernetes.Aside, error)
	// shared is done once Helm has made the revision; nil for nothing.
	shared func() error
}

// deploy is HelmDeploy (semantics/kubernetes §19.1).
func (s *session) deploy(ctx context.Context) (task.Result, error) {
	d, err := s.plan(ctx, s.p.Target.ReleaseName)
	if err != nil {
		return task.Result{}, err
	}
	s.show(d.shown)
	if err := s.prepare(ctx, d); err != nil {
		return task.Result{}, err
	}
	return s.carryOut(ctx, d, outputs{})
}

// show lists what is rendered.
func (s *session) show(manifest string) {
	for _, name := range s.cluster.Names(manifest) {
		say(s.env.Log(unitInit), "Rendered %s", name)
	}
}

// carryOut does what was planned, and gives its outputs beside those given.
func (s *session) carryOut(ctx context.Context, d *deployment, out outputs) (task.Result, error) {
	if d.aside != nil {
		if err := s.makeWay(ctx, d); err != nil {
			return task.Result{}, err
		}
	}
	made, err := s.change(ctx, d)
	if err != nil && made != nil {
		err = s.explained(ctx, made, d.flags.Wait != "", err)
	}
	if err == nil && d.shared != nil {
		err = d.shared()
	}
	if err == nil {
		err = s.settle(ctx, d.cfg, made, d.flags.WaitForJobs)
	}
	out["hasInstallUpgradeStarted"], out["prevReleaseVersion"], out["newReleaseVersion"] = made != nil, versionOf(d.previous), versionOf(made)
	if err != nil {
		return s.failed(ctx, d, made, out, err)
	}
	c := s.changed(ctx, d, made)
	out["containerInfoList"] = containers(c.Instances)
	if err := s.list(d.cfg); err != nil {
		return s.failed(ctx, d, made, out, err)
	}
	log := s.env.Log(unitWrapUp)
	say(log, "Release %s has revision %d, chart %s %s", made.Name, made.Version, made.Chart.Name(), made.Chart.Metadata.Version)
	for _, i := range c.Instances {
		say(log, "pod %s %v", i.Name, i.Images)
	}
	return s.result(out, c)
}

// explained puts before Helm's own error what the hook that failed says of it,
// or the workloads, if Helm waited for them.
func (s *session) explained(ctx context.Context, made *release.Release, waited bool, err error) error {
	for _, h := range made.Hooks {
		if h.LastRun.Phase == release.HookPhaseFailed {
			return s.cluster.Explain(ctx, h.Manifest, unitChange, err)
		}
	}
	if !waited {
		return err
	}
	return s.cluster.Explain(ctx, made.Manifest, unitChange, err)
}

// changed is the ledger's entry of a revision that was made.
func (s *session) changed(ctx context.Context, d *deployment, made *release.Release) task.Change {
	c := s.cluster.Changed(ctx, "applied", made.Manifest, d.before)
	c.Revision, c.Whole = fmt.Sprint(made.Version), d.aside == nil
	return c
}

func versionOf(r *release.Release) int {
	if r == nil {
		return 0
	}
	return r.Version
}

// containers is the output of the same name: the pods that run now.
func containers(list []task.Instance) []map[string]any {
	out := []map[string]any{}
	for _, i := range list {
		out = append(out, map[string]any{"podName": i.Name, "ip": i.IP, "namespace": i.Namespace, "releaseName": i.Release, "images": i.Images, "newContainer": i.New})
	}
	return out
}

// plan fetches and renders, and finds out from the history what is to be done.
// Until it is done, nothing has changed.
func (s *session) plan(ctx context.Context, name string) (*deployment, error) {
	d := &deployment{name: name}
	var err error
	if d.cfg, err = s.configure(unitChange); err != nil {
		return nil, err
	}
	if d.history, err = historyOf(d.cfg, name); err != nil {
		return nil, err
	}
	d.previous = d.history.good(1 << 30)
	if first := d.history.ofStage(s.stageLabel()); first != nil {
		d.previous = d.history.good(first.Version)
	}
	d.install = len(d.history) == 0
	if d.history.last() != nil && d.history.last().Info.Status == common.StatusUninstalled {
		d.install, d.replace = true, true
	}
	command := origin.HelmUpgrade
	if d.install && !s.p.UpgradeInstall {
		command = origin.HelmInstall
	}
	if d.flags, err = s.p.Flags(command); err != nil {
		return nil, err
	}
	return d, s.render(ctx, d)
}

// render loads the chart with its values and renders it, to be seen before
// anything is changed.
func (s *session) render(ctx context.Context, d *deployment) error {
	m := s.p.Target.Manifest
	if m == nil || m.Type != origin.HelmChart {
		return fault.New(fault.Invalid, "the service has no Helm chart; native Helm deploys nothing else")
	}
	if m.Chart != nil && m.Chart.HelmVersion == "V2" {
		return fault.New(fault.Unsupported, "helmVersion V2 can't be used: Helm 2 is out of support since 2020; want V3, V380 or V4")
	}
	source := s.source()
	download, err := s.p.Download()
	if err != nil {
		return err
	}
	files, err := s.charts.Fetch(ctx, source, m, download)
	if err != nil {
		return err
	}
	base, err := source.Values(ctx, m, files, s.p.Target.Values)
	if err != nil {
		return err
	}
	if d.values, err = chart.Values(base, files, d.flags); err != nil {
		return err
	}
	flags, err := s.p.Flags(origin.HelmTemplate)
	if err != nil {
		return err
	}
	cluster, err := s.capabilities()
	if err != nil {
		return err
	}
	dir, err := s.env.Dir()
	if err != nil {
		return err
	}
	var got templated
	err = s.sandbox.Run(ctx, sandbox.Work{
		Verb: verbTemplate, What: "rendering the chart of " + m.ID, Log: s.env.Log(unitInit), Request: chart.Job{
			Manifest: bare(m), Files: files, Dir: dir, Load: d.flags, Flags: flags, Values: d.values,
			Release: chart.Release{Name: d.name, Namespace: s.p.Target.Namespace, Cluster: cluster},
		},
	}, &got)
	if err != nil {
		return err
	}
	d.folder, d.shown = got.Folder, got.Text
	if d.chart, err = chart.Load(d.folder); err != nil { // the sandbox has found it to be within its bounds
		return err
	}
	if len(d.chart.CRDObjects()) == 0 { // else Helm asks once it has installed them
		d.cfg.Capabilities = cluster
	}
	return nil
}

// capabilities are what the cluster has. It is asked once for a task: what was
// found out for others may be older than a kind that the chart looks for.
func (s *session) capabilities() (*chartcommon.Capabilities, error) {
	if s.has != nil {
		return s.has, nil
	}
	mapper, err := s.cluster.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	meta.MaybeResetRESTMapper(mapper) // and with it what it finds kinds by
	kinds, err := s.cluster.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	s.has, err = chart.Capabilities(kinds)
	return s.has, err
}

// prepare refuses to deploy over a revision that went wrong, unless it was
// this stage's own or the step says to (semantics/kubernetes §19.1, 3).
func (s *session) prepare(ctx context.Context, d *deployment) error {
	log := s.env.Log(unitPrepare)
	last := d.history.last()
	if last == nil {
		say(log, "Release %s is new", d.name)
		return nil
	}
	say(log, "Release %s has revision %d, which is %s; the last good one is %d", last.Name, last.Version, last.Info.Status, versionOf(d.previous))
	d.before = s.cluster.Instances(ctx, last.Manifest)
	status := last.Info.Status
	own := d.history.isOf(s.stageLabel())
	if (status == common.StatusFailed || status.IsPending()) && !s.p.IgnoreFailedHistory && !own {
		return fault.New(fault.Conflict, "there is an issue with the latest release: revision %d of %s is %s (%s); roll it back, or set ignoreReleaseHistFailStatus",
			last.Version, last.Name, status, last.Info.Description)
	}
	if status.IsPending() {
		return s.unlock(ctx, d, last)
	}
	return s.cluster.Remember(ctx, last.Manifest)
}

// unlock ends a revision whose deployment was broken off, which Helm takes for
// one that goes on: back to the last good one, or away if there is none.
func (s *session) unlock(ctx context.Context, d *deployment, last *release.Release) error {
	say(s.env.Log(unitPrepare), "Revision %d never ended (%s)", last.Version, last.Info.Status)
	if d.previous == nil {
		d.install, d.replace = true, false
		return s.uninstall(ctx, d.name, origin.HelmFlags{Cascade: "background", NoHooks: d.aside != nil}, unitPrepare)
	}
	return s.rollBackTo(ctx, d.name, d.previous.Version, origin.HelmFlags{NoHooks: true}, unitPrepare)
}

// change installs or upgrades. The release is what Helm recorded of it; nil
// if nothing was begun.
func (s *session) change(ctx context.Context, d *deployment) (*release.Release, error) {
	log := s.env.Log(unitChange)
	if done := s.delivered(d.history); done != nil {
		say(log, "Revision %d of %s is what this step has deployed already", done.Version, done.Name)
		return done, nil
	}
	was := versionOf(d.history.last())
	stubs := s.remote(ctx, d, d.flags.EnableDNS)
	defer stubs.Restore()
	d.cfg.CustomTemplateFuncs = stubs.Functions()
	if d.install {
		say(log, "Installing %s from chart %s %s", d.name, d.chart.Name(), d.chart.Metadata.Version)
		in := s.installer(ctx, d)
		_, err := in.RunWithContext(ctx, d.chart, d.values)
		return s.begun(d, 0, cmp.Or(stubs.Err(), err))
	}
	say(log, "Upgrading %s to chart %s %s", d.name, d.chart.Name(), d.chart.Metadata.Version)
	up := s.upgrader(ctx, d)
	_, err := up.RunWithContext(ctx, d.name, d.chart, d.values)
	return s.begun(d, was, cmp.Or(stubs.Err(), err))
}

// begun finds the revision that a change made, whether or not it went well.
func (s *session) begun(d *deployment, was int, changeErr error) (*release.Release, error) {
	h, err := historyOf(d.cfg, d.name)
	if err != nil {
		return nil, errors.Join(refused(changeErr), err)
	}
	stage := s.stageLabel()
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].Version > was && h[i].Labels[labelStage] == stage && h[i].Info.RollbackRevision == 0 {
			return h[i], refused(changeErr)
		}
	}
	if changeErr == nil {
		return nil, fault.New(fault.Conflict, "release %s has lost its newest revision while it was deployed", d.name)
	}
	return nil, refused(changeErr)
}

// settle waits until what was deployed runs, its Jobs too if they are asked
// for, tests it, and writes down how it ended.
func (s *session) settle(ctx context.Context, cfg *action.Configuration, made *release.Release, jobs bool) error {
	if !s.p.SkipSteadyState {
		if err := s.cluster.Steady(ctx, made.Manifest, jobs); err != nil {
			return err
		}
	}
	if s.p.RunTests {
		if err := s.test(ctx, made.Name); err != nil {
			return err
		}
	}
	return mark(cfg, made.Name, made.Version, statusSucceeded)
}

// cleanupTime is how long a failed first release may take to go, beyond the
// end of the step's own time.
const cleanupTime = 2 * time.Minute

// failed writes down that a revision failed. A release that was never there
// before goes again, unless the step says not to; what an upgrade did is left
// to HelmRollback.
func (s *session) failed(ctx context.Context, d *deployment, made *release.Release, out outputs, cause error) (task.Result, error) {
	r, err := s.result(out)
	if err != nil || made == nil {
		return r, cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	log := s.env.LogError(unitWrapUp)
	r.Changes = []task.Change{s.changed(ctx, d, made)}
	if err := mark(d.cfg, made.Name, made.Version, statusFailed); err != nil {
		say(log, "revision %d couldn't be marked as failed: %s", made.Version, err)
	}
	if !d.install || s.p.SkipCleanup || d.aside != nil { // what stands beside serves nobody, and shows what went wrong
		return r, cause
	}
	say(log, "The first deployment of %s failed, so it is uninstalled", made.Name)
	flags, err := s.p.Removal()
	if err == nil {
		err = s.uninstall(ctx, made.Name, flags, unitWrapUp)
	}
	if err != nil {
		say(log, "release %s couldn't be uninstalled: %s", made.Name, err)
	}
	return r, cause
}

// labels are those of the revision that a step makes.
func (s *session) labels(flags origin.HelmFlags) map[string]string {
	out := maps.Clone(flags.Labels)
	if out == nil {
		out = map[string]string{}
	}
	out[labelStage], out[labelStep], out[labelStatus] = s.stageLabel(), s.stepLabel(), statusInProgress
	return out
}
