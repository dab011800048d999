package helm

import (
	"cmp"
	"context"
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	release "helm.sh/helm/v4/pkg/release/v1"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// rollback is HelmRollback (semantics/kubernetes §19.2): back to the last
// revision that was good before this stage deployed. What the stage put beside
// it, a canary or a colour, goes back too, or away if it wasn't there before.
func (s *session) rollback(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitRollback)
	out := outputs{}
	var changes []task.Change
	colors, err := s.cluster.Stage(ctx)
	if err != nil {
		return task.Result{}, err
	}
	beside := []string{s.beside(canarySuffix).Release}
	if colors != nil {
		if err := s.cluster.Restore(ctx, log); err != nil {
			return task.Result{}, err
		}
		beside = append(beside, s.inColor(colors.Next).Release)
		changes = append(changes, task.Change{Target: s.target(), Action: "switched"})
	}
	for _, name := range append(beside, s.p.Target.ReleaseName) {
		c, err := s.revert(ctx, name, out)
		if c != nil {
			changes = append(changes, *c)
		}
		if err != nil {
			r, _ := s.result(out, changes...)
			return r, err
		}
	}
	if len(changes) == 0 {
		say(log, "This stage deployed nothing, or what it deployed is gone already, so there is nothing to roll back")
	}
	return s.result(out, changes...)
}

// revert undoes what this stage did to one release; nil for nothing.
func (s *session) revert(ctx context.Context, name string, out outputs) (*task.Change, error) {
	cfg, err := s.configure(unitRollback)
	if err != nil {
		return nil, err
	}
	h, err := historyOf(cfg, name)
	if err != nil {
		return nil, err
	}
	ours := h.ofStage(s.stageLabel())
	if ours == nil {
		return nil, nil
	}
	good := h.good(ours.Version)
	main := name == s.p.Target.ReleaseName
	switch {
	case good == nil && main:
		say(s.env.Log(unitRollback), "There is no earlier good revision to go back to; revision %d stays", ours.Version)
		return &task.Change{Target: s.target(), Action: "kept"}, nil
	case good == nil:
		return s.away(ctx, h.last())
	}
	flags, err := s.p.Flags(origin.HelmRollback)
	if err != nil {
		return nil, err
	}
	flags.NoHooks = flags.NoHooks || !main
	if !main {
		if err := s.cluster.MakeWay(ctx, good.Manifest, unitRollback); err != nil {
			return nil, err
		}
	}
	if err := s.goBack(ctx, cfg, h, good, flags); err != nil {
		return nil, err
	}
	if h, err = historyOf(cfg, name); err != nil {
		return nil, err
	}
	now := h.last()
	out["newReleaseVersion"], out["rollbackVersion"] = now.Version, good.Version
	if err := s.settle(ctx, cfg, now, flags.WaitForJobs); err != nil {
		return nil, err
	}
	c := s.cluster.Changed(ctx, "rolled back", now.Manifest, nil)
	c.Revision, c.Whole = fmt.Sprint(now.Version), main
	return &c, nil
}

// away uninstalls a release that this stage put beside the one that serves.
func (s *session) away(ctx context.Context, last *release.Release) (*task.Change, error) {
	flags, err := s.p.Removal()
	if err != nil {
		return nil, err
	}
	flags.NoHooks, flags.IgnoreNotFound, flags.KeepHistory, flags.DryRun = true, true, false, false
	if err := s.uninstall(ctx, last.Name, flags, unitRollback); err != nil {
		return nil, err
	}
	c := s.cluster.Changed(ctx, "deleted", last.Manifest, nil)
	c.Instances, c.Whole = nil, false
	return &c, nil
}

// goBack rolls a release back to a good revision.
func (s *session) goBack(ctx context.Context, cfg *action.Configuration, h history, good *release.Release, flags origin.HelmFlags) error {
	if err := s.cluster.Remember(ctx, good.Manifest); err != nil {
		return err
	}
	ours := h.ofStage(s.stageLabel())
	for _, r := range h { // however the rollback ends, nobody goes back to these
		if r.Version >= ours.Version && r.Labels[labelStage] == s.stageLabel() && r.Info.RollbackRevision == 0 {
			if err := mark(cfg, r.Name, r.Version, statusFailed); err != nil {
				return err
			}
		}
	}
	return s.rollBackTo(ctx, good.Name, good.Version, flags, unitRollback)
}

func (s *session) target() string {
	return "kubernetes:" + s.p.Target.Namespace + "/" + s.p.Target.ReleaseName
}

// rollBackTo is "helm rollback": it makes a new revision of an old one.
func (s *session) rollBackTo(ctx context.Context, name string, version int, f origin.HelmFlags, unit string) error {
	cfg, err := s.configure(unit)
	if err != nil {
		return err
	}
	say(s.env.Log(unit), "Rolling %s back to revision %d", name, version)
	back := action.NewRollback(cfg)
	back.Version, back.Timeout = version, timeout(ctx, f)
	back.WaitStrategy, back.WaitOptions = waiting(ctx, f)
	back.WaitForJobs, back.DisableHooks, back.Description = f.WaitForJobs, f.NoHooks, f.Description
	back.ForceReplace, back.ForceConflicts, back.CleanupOnFail = f.Force, f.ForceConflicts, f.CleanupOnFail
	back.ServerSideApply, back.MaxHistory = cmp.Or(f.ServerSide, "auto"), s.historyMax(f)
	return refused(back.Run(name))
}
