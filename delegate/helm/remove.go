package helm

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// remove is HelmDelete (semantics/kubernetes §19.3).
func (s *session) remove(ctx context.Context) (task.Result, error) {
	name := cmp.Or(s.p.Release, s.p.Target.ReleaseName)
	other := name != s.p.Target.ReleaseName
	s.p.Target.ReleaseName = name
	flags, err := s.p.Removal()
	if err != nil {
		return task.Result{}, err
	}
	flags.DryRun = flags.DryRun || s.p.DryRun
	if !other {
		colors, err := s.deleteColors(ctx, flags)
		if err != nil {
			return task.Result{}, err
		}
		flags.IgnoreNotFound = flags.IgnoreNotFound || colors
	}
	if err := s.uninstall(ctx, name, flags, unitDelete); err != nil {
		return task.Result{}, err
	}
	if flags.DryRun {
		say(s.env.Log(unitDelete), "Dry run: nothing was deleted")
		return s.result(outputs{})
	}
	return s.result(outputs{}, task.Change{Target: s.target(), Action: "deleted", Whole: true})
}

// deleteColors uninstalls the colours of a release and what they share, and
// says whether there were any.
func (s *session) deleteColors(ctx context.Context, flags origin.HelmFlags) (bool, error) {
	known, err := s.cluster.Colored(ctx)
	if err != nil || !known {
		return false, err
	}
	flags.IgnoreNotFound = true
	for _, color := range []string{blue, green} {
		if err := s.uninstall(ctx, s.inColor(color).Release, flags, unitDelete); err != nil {
			return true, err
		}
	}
	if flags.DryRun {
		say(s.env.Log(unitDelete), "What both colours share would be deleted")
		return true, nil
	}
	return true, s.cluster.Unshare(ctx, s.env.Log(unitDelete))
}

// uninstall is "helm uninstall".
func (s *session) uninstall(ctx context.Context, name string, f origin.HelmFlags, unit string) error {
	cfg, err := s.configure(unit)
	if err != nil {
		return err
	}
	log := s.env.Log(unit)
	un := action.NewUninstall(cfg)
	un.DryRun, un.DisableHooks, un.IgnoreNotFound, un.KeepHistory = f.DryRun, f.NoHooks, f.IgnoreNotFound, f.KeepHistory
	un.DeletionPropagation, un.Timeout, un.Description = f.Cascade, timeout(ctx, f), f.Description
	un.WaitStrategy, un.WaitOptions = waiting(ctx, f)
	got, err := un.Run(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return fault.New(fault.NotFound, "there is no release %s in the namespace %s; --ignore-not-found makes that no failure", name, s.p.Target.Namespace)
	}
	if err != nil {
		return refused(err)
	}
	if got == nil {
		say(log, "There is no release %s", name)
		return nil
	}
	if info := strings.TrimSpace(got.Info); info != "" {
		say(log, "%s", info)
	}
	if f.DryRun {
		if r, ok := got.Release.(*release.Release); ok {
			for _, object := range s.cluster.Names(r.Manifest) {
				say(log, "%s would be deleted", object)
			}
		}
		return nil
	}
	say(log, "Release %s uninstalled", name)
	return nil
}
