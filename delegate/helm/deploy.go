package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"helm.sh/helm/v4/pkg/action"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	"github.com/slipway-cd/slipway/delegate/chart"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// deployment is what a deploy step is about to do.
type deployment struct {
	cfg      *action.Configuration
	chart    *v2.Chart
	values   map[string]any
	history  history
	previous *release.Release // the last good one; nil for none
	install  bool
	replace  bool // a name whose history has ended
	flags    task.HelmFlags
	before   []task.Instance
}

// deploy is HelmDeploy (kubernetes spec §19.1).
func (s *session) deploy(ctx context.Context) (task.Result, error) {
	d, err := s.plan(ctx)
	if err != nil {
		return task.Result{}, err
	}
	made, err := s.change(ctx, d)
	if err == nil {
		err = s.settle(ctx, d.cfg, made)
	}
	out := outputs{"hasInstallUpgradeStarted": made != nil, "prevReleaseVersion": versionOf(d.previous), "newReleaseVersion": versionOf(made)}
	if err != nil {
		return s.failed(ctx, d, made, out, err)
	}
	c := s.cluster.Changed(ctx, "applied", made.Manifest, d.before)
	c.Revision = fmt.Sprint(made.Version)
	out["containerInfoList"] = containers(c.Instances)
	log := s.env.Log(unitWrapUp)
	say(log, "Release %s has revision %d, chart %s %s", made.Name, made.Version, made.Chart.Name(), made.Chart.Metadata.Version)
	for _, i := range c.Instances {
		say(log, "pod %s %v", i.Name, i.Images)
	}
	return s.result(out, c)
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
func (s *session) plan(ctx context.Context) (*deployment, error) {
	d := &deployment{}
	var err error
	if d.cfg, err = s.configure(unitChange); err != nil {
		return nil, err
	}
	if d.history, err = historyOf(d.cfg, s.p.Target.ReleaseName); err != nil {
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
	command := task.HelmUpgrade
	if d.install && !s.p.UpgradeInstall {
		command = task.HelmInstall
	}
	if d.flags, err = s.p.Flags(command); err != nil {
		return nil, err
	}
	if err := s.render(ctx, d); err != nil {
		return nil, err
	}
	return d, s.prepare(ctx, d)
}

// render loads the chart with its values and shows what it makes.
func (s *session) render(ctx context.Context, d *deployment) error {
	m := s.p.Target.Manifest
	if m == nil || m.Type != "HelmChart" {
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
	if d.chart, err = s.reader(unitFetch).Load(ctx, m, files, d.flags); err != nil {
		return err
	}
	base, err := source.Values(ctx, m, files, s.p.Target.Values)
	if err != nil {
		return err
	}
	if d.values, err = chart.Values(base, files, d.flags); err != nil {
		return err
	}
	flags, err := s.p.Flags(task.HelmTemplate)
	if err != nil {
		return err
	}
	kinds, err := s.cluster.ToDiscoveryClient()
	if err != nil {
		return err
	}
	shown, err := s.reader(unitInit).Template(ctx, d.chart, d.values, chart.Release{Name: s.p.Target.ReleaseName, Namespace: s.p.Target.Namespace, Cluster: kinds}, flags)
	if err != nil {
		return err
	}
	for _, name := range s.cluster.Names(shown) {
		say(s.env.Log(unitInit), "Rendered %s", name)
	}
	return nil
}

// prepare refuses to deploy over a revision that went wrong, unless it was
// this stage's own or the step says to (kubernetes spec §19.1, 3).
func (s *session) prepare(ctx context.Context, d *deployment) error {
	log := s.env.Log(unitPrepare)
	last := d.history.last()
	if last == nil {
		say(log, "Release %s is new", s.p.Target.ReleaseName)
		return nil
	}
	say(log, "Release %s has revision %d, which is %s; the last good one is %d", last.Name, last.Version, last.Info.Status, versionOf(d.previous))
	d.before = s.cluster.Instances(ctx, last.Manifest)
	status := last.Info.Status
	own := last.Labels[labelStage] == s.stageLabel()
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
		return s.uninstall(ctx, s.p.Target.ReleaseName, task.HelmFlags{Cascade: "background"}, unitPrepare)
	}
	return s.rollBackTo(ctx, d.previous.Version, task.HelmFlags{NoHooks: true}, unitPrepare)
}

// change installs or upgrades. The release is what Helm recorded of it; nil
// if nothing was begun.
func (s *session) change(ctx context.Context, d *deployment) (*release.Release, error) {
	log := s.env.Log(unitChange)
	was := versionOf(d.history.last())
	if d.install {
		say(log, "Installing %s from chart %s %s", s.p.Target.ReleaseName, d.chart.Name(), d.chart.Metadata.Version)
		in := s.installer(ctx, d)
		_, err := in.RunWithContext(ctx, d.chart, d.values)
		return s.begun(d, 0, err)
	}
	say(log, "Upgrading %s to chart %s %s", s.p.Target.ReleaseName, d.chart.Name(), d.chart.Metadata.Version)
	up := s.upgrader(ctx, d)
	_, err := up.RunWithContext(ctx, s.p.Target.ReleaseName, d.chart, d.values)
	return s.begun(d, was, err)
}

// begun finds the revision that a change made, whether or not it went well.
func (s *session) begun(d *deployment, was int, changeErr error) (*release.Release, error) {
	h, err := historyOf(d.cfg, s.p.Target.ReleaseName)
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
		return nil, fault.New(fault.Conflict, "release %s has lost its newest revision while it was deployed", s.p.Target.ReleaseName)
	}
	return nil, refused(changeErr)
}

// settle waits until what was deployed runs, tests it, and writes down how it
// ended.
func (s *session) settle(ctx context.Context, cfg *action.Configuration, made *release.Release) error {
	if !s.p.SkipSteadyState {
		if err := s.cluster.Steady(ctx, made.Manifest); err != nil {
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
	r.Changes = []task.Change{s.cluster.Changed(ctx, "applied", made.Manifest, d.before)}
	if err := mark(d.cfg, made.Name, made.Version, statusFailed); err != nil {
		say(log, "revision %d couldn't be marked as failed: %s", made.Version, err)
	}
	if !d.install || s.p.SkipCleanup {
		return r, cause
	}
	say(log, "The first deployment of %s failed, so it is uninstalled", made.Name)
	flags, err := s.p.Flags(task.HelmUninstall)
	if err == nil {
		err = s.uninstall(ctx, made.Name, flags, unitWrapUp)
	}
	if err != nil {
		say(log, "release %s couldn't be uninstalled: %s", made.Name, err)
	}
	return r, cause
}

// labels are those of the revision that a step makes.
func (s *session) labels(flags task.HelmFlags) map[string]string {
	out := maps.Clone(flags.Labels)
	if out == nil {
		out = map[string]string{}
	}
	out[labelStage], out[labelStatus] = s.stageLabel(), statusInProgress
	return out
}
