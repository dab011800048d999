package helm

import (
	"bytes"
	"context"

	"helm.sh/helm/v4/pkg/release/common"

	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// aside is a post-renderer of Helm's: it makes of a chart what stands beside
// the release that serves.
type aside func(rendered string) (kubernetes.Aside, error)

// Run gives Helm what the release is to be made of.
func (a aside) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	made, err := a(rendered.String())
	return bytes.NewBufferString(made.Manifest), err
}

// maxName is the longest name that Helm takes for a release.
const maxName = 53

// beside names a release beside the service's.
func (s *session) beside(suffix string) kubernetes.Beside {
	of := s.p.Target.ReleaseName
	return kubernetes.Beside{Release: of[:min(len(of), maxName-len(suffix))] + suffix, Of: of, Suffix: suffix}
}

// makeWay readies the place of a release that serves nobody.
func (s *session) makeWay(ctx context.Context, d *deployment) error {
	made, err := d.aside(d.shown)
	if err != nil {
		return err
	}
	return s.cluster.MakeWay(ctx, made.Manifest, unitPrepare)
}

const canarySuffix = "-canary"

// canary is HelmCanaryDeploy (semantics/kubernetes §19.4): a release of its
// own with a few instances of the chart's one workload. Hooks don't run.
func (s *session) canary(ctx context.Context) (task.Result, error) {
	b := s.beside(canarySuffix)
	d, err := s.plan(ctx, b.Release)
	if err != nil {
		return task.Result{}, err
	}
	d.aside = func(rendered string) (kubernetes.Aside, error) {
		return s.cluster.Canary(ctx, rendered, b, s.p.Instances)
	}
	made, err := d.aside(d.shown)
	if err != nil {
		return task.Result{}, err
	}
	s.show(made.Manifest)
	if err := s.prepare(ctx, d); err != nil {
		return task.Result{}, err
	}
	say(s.env.Log(unitPrepare), "Canary %s with %d instances", made.Workload, made.Instances)
	return s.carryOut(ctx, d, outputs{"canaryRelease": b.Release, "canaryWorkload": made.Workload, "targetInstances": made.Instances})
}

// canaryDelete is HelmCanaryDelete: the canary's release is uninstalled. There
// need not be one.
func (s *session) canaryDelete(ctx context.Context) (task.Result, error) {
	b := s.beside(canarySuffix)
	flags, err := s.p.Removal()
	if err != nil {
		return task.Result{}, err
	}
	flags.NoHooks, flags.IgnoreNotFound = true, true
	cfg, err := s.configure(unitDelete)
	if err != nil {
		return task.Result{}, err
	}
	h, err := historyOf(cfg, b.Release)
	if err != nil {
		return task.Result{}, err
	}
	if h.last() == nil || h.last().Info.Status == common.StatusUninstalled {
		say(s.env.Log(unitDelete), "There is no release %s, so there is nothing to delete", b.Release)
		return s.result(outputs{"canaryRelease": b.Release})
	}
	if err := s.uninstall(ctx, b.Release, flags, unitDelete); err != nil {
		return task.Result{}, err
	}
	if flags.DryRun {
		return s.result(outputs{"canaryRelease": b.Release})
	}
	c := s.cluster.Changed(ctx, "deleted", h.last().Manifest, nil)
	c.Instances, c.Whole = nil, false
	return s.result(outputs{"canaryRelease": b.Release}, c)
}
