package execution

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// RollbackRequest says who rolls an execution back.
type RollbackRequest struct {
	By audit.Author
	// Key starts one execution, as in launch.Request.
	Key string
}

// Rollback starts the rollback of an execution that succeeded
// (semantics/pipeline §5.4, post-deployment rollback): an execution of the
// same plan that runs the rollback steps of its stages in reverse, once. It
// must be the latest that has deployed its services where it put them or, if
// it has deployed nothing, the latest of its pipeline; and not older than 30
// days.
func (s *Service) Rollback(ctx context.Context, id string, r RollbackRequest) (store.Execution, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return store.Execution{}, err
	}
	made, err := s.Launch.NewID(ctx, r.Key)
	if err != nil {
		return store.Execution{}, err
	}
	if r.Key != "" { // the first answer to the same key
		if again, err := s.Store.Execution(ctx, made); err == nil && again.RollbackOf == id {
			return again, s.Launch.Run(ctx, again, plan.NodeID(ref.Pipeline))
		}
	}
	p, err := s.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return store.Execution{}, err
	}
	failed, err := s.mayRollBack(ctx, e, p)
	if err != nil {
		return store.Execution{}, err
	}
	if made, err = s.firstRollback(ctx, e.ID, failed, made); err != nil {
		return store.Execution{}, err
	}
	doc, err := s.Store.Plan(ctx, e.PlanHash)
	if err != nil {
		return store.Execution{}, err
	}
	return s.Launch.Begin(ctx, store.Execution{
		ID: made, Scope: e.Scope, Pipeline: e.Pipeline, Name: e.Name, PlanHash: e.PlanHash, Inputs: e.Inputs, RollbackOf: e.ID, As: e.As,
	}, p.Root.ID, doc, r.By, fmt.Sprintf("rollback of execution %s, plan %s", e.ID, e.PlanHash))
}

// firstRollback gives the id of an execution's rollback after so many that
// failed: own, or that of who asked for it at the same moment and was quicker.
// One that has begun is seen by mayRollBack.
func (s *Service) firstRollback(ctx context.Context, id string, failed int, own string) (string, error) {
	kept, _, err := s.Store.PutAnswer(ctx, store.Answer{
		Key: fmt.Sprintf("rollback of %s after %d", id, failed), Body: []byte(own), Expires: s.Now().Add(maxAge),
	})
	if err != nil {
		return "", fmt.Errorf("claim the rollback of execution %s: %w", id, err)
	}
	return string(kept.Body), nil
}

// mayRollBack says why an execution can't be rolled back, or how many of its
// rollbacks have failed.
func (s *Service) mayRollBack(ctx context.Context, e store.Execution, p *plan.Plan) (failed int, err error) {
	switch {
	case e.Preview:
		return 0, fault.New(fault.Conflict, "execution %s is a preview; it has changed nothing", e.ID)
	case e.RollbackOf != "":
		return 0, fault.New(fault.Conflict, "execution %s has rolled %s back; a rollback can't be rolled back", e.ID, e.RollbackOf)
	case !e.Status.Good():
		return 0, fault.New(fault.Conflict, "execution %s is %s; only one that succeeded can be rolled back", e.ID, e.Status)
	case s.Now().Sub(e.StartedAt) > maxAge:
		return 0, fault.New(fault.Conflict, "execution %s is older than 30 days", e.ID)
	case !undoable(p.Root):
		return 0, fault.New(fault.Conflict, "no stage of execution %s has rollback steps", e.ID)
	}
	latest, err := s.stillThere(ctx, e, p)
	if err != nil {
		return 0, err
	}
	page := store.Page{Limit: 50}
	for {
		list, next, err := s.Store.ListExecutions(ctx, store.ExecutionFilter{Scope: e.Scope, Pipeline: e.Pipeline}, page)
		if err != nil {
			return 0, err
		}
		for _, later := range list {
			switch {
			case later.ID == e.ID:
				return failed, nil
			case later.RollbackOf == "" && !latest:
				return 0, fault.New(fault.Conflict, "execution %s came after %s; only the latest of a pipeline can be rolled back", later.ID, e.ID)
			case later.RollbackOf == e.ID && later.Status.Bad(): // it may be tried again
				failed++
			case later.RollbackOf == e.ID:
				return 0, fault.New(fault.Conflict, "execution %s has rolled %s back already; run the pipeline again first", later.ID, e.ID)
			}
		}
		if page.Token = next; next == "" {
			return failed, nil
		}
	}
}

// undoable says whether a plan has rollback steps.
func undoable(n *plan.Node) bool {
	if len(n.Rollback) > 0 {
		return true
	}
	for _, c := range n.Children {
		if undoable(c) {
			return true
		}
	}
	return false
}
