package engine

import (
	"cmp"
	"context"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Since says who has put a service somewhere since an execution did, if anybody
// has, and whether the ledger knows of the execution's own deployment there. An
// earlier try to roll the execution back is its own. No infrastructure: any of
// the environment.
func (r *Reader) Since(ctx context.Context, e store.Execution, service, environment, infrastructure string) (by *store.Deployed, known bool, err error) {
	page := store.Page{Limit: 100}
	for {
		list, next, err := r.store.ListPlacements(ctx, e.Scope, service, environment, page)
		if err != nil {
			return nil, false, err
		}
		for _, p := range list {
			if cmp.Or(infrastructure, p.Key.Infrastructure) != p.Key.Infrastructure {
				continue
			}
			own, err := r.ownOf(ctx, e, p.Deployed)
			switch {
			case err != nil:
				return nil, false, err
			case own:
				known = true
			case p.Deployed.TaskAt.After(e.StartedAt):
				return &p.Deployed, known, nil
			}
		}
		if page.Token = next; next == "" {
			return nil, known, nil
		}
	}
}

// ownOf says whether an execution, or an earlier try to roll it back, was the
// last to change a placement.
func (r *Reader) ownOf(ctx context.Context, e store.Execution, d store.Deployed) (bool, error) {
	if d.Execution == e.ID {
		return true, nil
	}
	last, err := r.store.Execution(ctx, d.Execution)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return last.RollbackOf == e.ID, err
}

// superseded fails a step that would put back what was there before an execution
// which has ended, if somebody has deployed there since: the rollback was asked
// for while that was under way, and has waited for its turn.
func (h *Handler) superseded(ctx context.Context, snap *snapshot, n *plan.Node) (*plan.Outcome, error) {
	stage := n.Stage()
	if snap.execution.RollbackOf == "" || !h.Reader.steps[n.Type].Deploys || stage == nil {
		return nil, nil //nolint:nilnil // nobody has
	}
	d := stage.Deploys(snap.state(stage.ID))
	if snap.err != nil {
		return nil, snap.err
	}
	if d == nil || d.Service == nil {
		return nil, nil //nolint:nilnil // nobody has
	}
	of, err := h.Store.Execution(ctx, snap.execution.RollbackOf)
	if err != nil {
		return nil, err
	}
	by, _, err := h.Reader.Since(ctx, of, d.ServiceRef, d.EnvironmentRef, d.InfrastructureID())
	if err != nil || by == nil {
		return nil, err
	}
	o := failed(fault.New(fault.Conflict, "execution %s of pipeline %s has deployed service %s there since; what was there before execution %s isn't put back",
		by.Execution, by.Pipeline, d.ServiceRef, of.ID).Causing(fault.Verification))
	return &o, nil
}
