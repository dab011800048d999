package execution

import (
	"cmp"
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Place is where a service was put, as stages name it.
type Place struct {
	Service, Environment string
	Infrastructure       string // empty: the only one of the environment that has the service
}

// RollbackPlace starts the rollback of the execution that has put what a
// service runs in a place (semantics/pipeline §5.4). All of that execution is
// rolled back, see Rollback.
func (s *Service) RollbackPlace(ctx context.Context, scope ref.Scope, at Place, r RollbackRequest) (store.Execution, error) {
	if r.Key != "" { // the first answer to the same key, which may have changed the place
		id, err := s.Launch.NewID(ctx, r.Key)
		if err != nil {
			return store.Execution{}, err
		}
		if again, err := s.Store.Execution(ctx, id); err == nil && again.RollbackOf != "" {
			return s.Rollback(ctx, again.RollbackOf, r)
		}
	}
	found, err := s.placements(ctx, scope, at)
	if err != nil {
		return store.Execution{}, err
	}
	found = slices.DeleteFunc(found, func(p store.Placement) bool { return !ledger.Live(p, s.Now()) })
	if len(found) == 0 {
		return store.Execution{}, fault.New(fault.NotFound, "no deployment of service %s to %s is known", at.Service, at)
	}
	by := found[0].Deployed.Execution
	for _, p := range found {
		if p.Deployed.Execution != by {
			return store.Execution{}, fault.New(fault.Conflict,
				"service %s was put into %s by several executions, among them %s and %s; name the infrastructure, or the execution", at.Service, at, by, p.Deployed.Execution)
		}
	}
	return s.Rollback(ctx, by, r)
}

// String names the place without the service.
func (p Place) String() string {
	if p.Infrastructure == "" {
		return "environment " + p.Environment
	}
	return "infrastructure " + p.Infrastructure + " of environment " + p.Environment
}

// placements lists what is known of a place.
func (s *Service) placements(ctx context.Context, scope ref.Scope, at Place) ([]store.Placement, error) {
	var out []store.Placement
	page := store.Page{Limit: 100}
	for {
		list, next, err := s.Store.ListPlacements(ctx, scope, at.Service, at.Environment, page)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if cmp.Or(at.Infrastructure, p.Key.Infrastructure) == p.Key.Infrastructure {
				out = append(out, p)
			}
		}
		if page.Token = next; next == "" {
			return out, nil
		}
	}
}

// stillThere says whether what an execution has deployed is what was deployed
// last, everywhere: its error names who came after it. False: it has deployed
// nothing that the ledger knows of, in one stage at least.
func (s *Service) stillThere(ctx context.Context, e store.Execution, p *plan.Plan) (bool, error) {
	places, err := s.places(ctx, e, p)
	if err != nil {
		return false, err
	}
	everywhere := len(places) > 0
	for _, at := range places {
		by, known, err := s.Engine.Reader.Since(ctx, e, at.Service, at.Environment, at.Infrastructure)
		if err != nil {
			return false, err
		}
		if by != nil {
			return false, fault.New(fault.Conflict, "execution %s of pipeline %s has deployed service %s to %s since; execution %s can't be rolled back any more",
				by.Execution, by.Pipeline, at.Service, at, e.ID)
		}
		everywhere = everywhere && known
	}
	return everywhere, nil
}

// places are where the stages of an execution that ran deployed what.
func (s *Service) places(ctx context.Context, e store.Execution, p *plan.Plan) ([]Place, error) {
	nodes, err := s.Store.AllNodes(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	var out []Place
	for _, record := range nodes {
		n := p.Node(record.ID)
		if n == nil || n.Kind != plan.KindStage || record.State.Status == plan.Skipped {
			continue
		}
		d := n.Deploys(record.State)
		if d == nil || d.Service == nil {
			continue
		}
		at := Place{Service: d.ServiceRef, Environment: d.EnvironmentRef, Infrastructure: d.InfrastructureID()}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out, nil
}
