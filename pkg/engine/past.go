package engine

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
)

// maxPast bounds how many executions are looked through for one that deployed
// well.
const maxPast = 20

// lastGood finds the stage that has last deployed what a stage deploys to the
// same infrastructure, and succeeded; nil if none is known. What the execution
// rolls back doesn't count.
func (r *Reader) lastGood(ctx context.Context, e store.Execution, stage *plan.Node, d *plan.Deployment) (*resolve.Past, error) {
	candidates, err := r.deployments(ctx, e, d)
	if err != nil {
		return nil, err
	}
	for _, id := range candidates[:min(len(candidates), maxPast)] {
		if id == e.RollbackOf {
			continue
		}
		past, err := r.goodStage(ctx, id, d, func(n *plan.Node) bool { return id == e.ID && n.ID == stage.ID })
		if past != nil || err != nil && !fault.Is(err, fault.NotFound) {
			return past, err
		}
	}
	return nil, nil
}

// deployments are the executions that have deployed the same, the newest
// first, and each once: this one, those that placements know, and those of the
// service's history.
func (r *Reader) deployments(ctx context.Context, e store.Execution, d *plan.Deployment) ([]string, error) {
	ids := []string{e.ID}
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	infrastructure := d.InfrastructureID()
	places, _, err := r.store.ListPlacements(ctx, e.Scope, d.ServiceRef, d.EnvironmentRef, store.Page{Limit: 50})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(places, func(a, b store.Placement) int { return b.Deployed.At.Compare(a.Deployed.At) })
	for _, p := range places {
		if p.Key.Infrastructure == infrastructure {
			add(p.Deployed.Execution)
			add(p.Deployed.Before)
		}
	}
	moments, _, err := r.store.ListMoments(ctx, e.Scope, d.ServiceRef, r.now().Add(-store.MomentsKept), store.Page{Limit: 200})
	if err != nil {
		return nil, err
	}
	for _, m := range moments {
		if m.Key.Environment == d.EnvironmentRef && m.Key.Infrastructure == infrastructure {
			add(m.Execution)
		}
	}
	return ids, nil
}

// goodStage is the stage of an execution that has deployed something last and
// succeeded.
func (r *Reader) goodStage(ctx context.Context, id string, d *plan.Deployment, skip func(*plan.Node) bool) (*resolve.Past, error) {
	e, err := r.store.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := r.plans.read(ctx, e.PlanHash)
	if err != nil {
		return nil, err
	}
	nodes, err := r.store.AllNodes(ctx, id)
	if err != nil {
		return nil, err
	}
	states := store.States(nodes)
	var found *plan.Node
	var at time.Time
	var walk func(*plan.Node)
	walk = func(n *plan.Node) {
		st := states[n.ID]
		if n.Kind == plan.KindStage {
			if !skip(n) && st.Status.Good() && st.Status != plan.Skipped && !st.Inherited && sameDeployment(n.Deploys(st), d) && st.EndedAt.After(at) {
				found, at = n, st.EndedAt
			}
			return
		}
		for _, c := range p.Children(n, st) {
			walk(c)
		}
	}
	walk(p.Root)
	if found == nil {
		return nil, nil
	}
	return &resolve.Past{Plan: p, Stage: found, State: func(id plan.NodeID) plan.State { return states[id] }, Execution: e}, nil
}

// sameDeployment says whether two deploy one service to one infrastructure.
func sameDeployment(a, b *plan.Deployment) bool {
	return a != nil && a.ServiceRef == b.ServiceRef && a.EnvironmentRef == b.EnvironmentRef &&
		a.InfrastructureID() == b.InfrastructureID()
}
