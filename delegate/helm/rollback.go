package helm

import (
	"cmp"
	"context"
	"fmt"

	"helm.sh/helm/v4/pkg/action"

	"github.com/slipway-cd/slipway/pkg/task"
)

// rollback is HelmRollback (kubernetes spec §19.2): back to the last revision
// that was good before this stage deployed.
func (s *session) rollback(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitRollback)
	cfg, err := s.configure(unitRollback)
	if err != nil {
		return task.Result{}, err
	}
	h, err := historyOf(cfg, s.p.Target.ReleaseName)
	if err != nil {
		return task.Result{}, err
	}
	ours := h.ofStage(s.stageLabel())
	if ours == nil {
		say(log, "This stage deployed nothing, or what it deployed is gone already, so there is nothing to roll back")
		return s.result(outputs{})
	}
	good := h.good(ours.Version)
	if good == nil {
		say(log, "There is no earlier good revision to go back to; revision %d stays", ours.Version)
		return s.result(outputs{}, task.Change{Target: s.target(), Action: "kept"})
	}
	flags, err := s.p.Flags(task.HelmRollback)
	if err != nil {
		return task.Result{}, err
	}
	if err := s.cluster.Remember(ctx, good.Manifest); err != nil {
		return task.Result{}, err
	}
	for _, r := range h { // however the rollback ends, nobody goes back to these
		if r.Version >= ours.Version && r.Labels[labelStage] == s.stageLabel() && r.Info.RollbackRevision == 0 {
			if err := mark(cfg, r.Name, r.Version, statusFailed); err != nil {
				return task.Result{}, err
			}
		}
	}
	if err := s.rollBackTo(ctx, good.Version, flags, unitRollback); err != nil {
		return task.Result{}, err
	}
	h, err = historyOf(cfg, s.p.Target.ReleaseName)
	if err != nil {
		return task.Result{}, err
	}
	now := h.last()
	out := outputs{"newReleaseVersion": now.Version, "rollbackVersion": good.Version}
	if err := s.settle(ctx, cfg, now); err != nil {
		r, _ := s.result(out)
		return r, err
	}
	c := s.cluster.Changed(ctx, "rolled back", now.Manifest, nil)
	c.Revision = fmt.Sprint(now.Version)
	return s.result(out, c)
}

func (s *session) target() string {
	return "kubernetes:" + s.p.Target.Namespace + "/" + s.p.Target.ReleaseName
}

// rollBackTo is "helm rollback": it makes a new revision of an old one.
func (s *session) rollBackTo(ctx context.Context, version int, f task.HelmFlags, unit string) error {
	cfg, err := s.configure(unit)
	if err != nil {
		return err
	}
	say(s.env.Log(unit), "Rolling %s back to revision %d", s.p.Target.ReleaseName, version)
	back := action.NewRollback(cfg)
	back.Version, back.Timeout = version, timeout(ctx, f)
	back.WaitStrategy, back.WaitOptions = waiting(ctx, f)
	back.WaitForJobs, back.DisableHooks, back.Description = f.WaitForJobs, f.NoHooks, f.Description
	back.ForceReplace, back.ForceConflicts, back.CleanupOnFail = f.Force, f.ForceConflicts, f.CleanupOnFail
	back.ServerSideApply, back.MaxHistory = cmp.Or(f.ServerSide, "auto"), s.historyMax(f)
	return refused(back.Run(s.p.Target.ReleaseName))
}
