package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// waiting tells what waits for people.
func waiting(s *Server) {
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "listWaiting", Method: http.MethodGet, Path: "/v1/waiting", Tags: []string{"Executions"},
		Summary: "List the steps and stages that wait for a person, those of the newest executions first",
	}, inTurn(s, s.steering.listWaiting))
}

// listsWaiting is a request for what waits, of which some may be seen.
type listsWaiting struct {
	Scoped
	Limit     int    `query:"limit" minimum:"1" maximum:"50" default:"20" doc:"Look into so many executions at most"`
	PageToken string `query:"pageToken" maxLength:"2048" doc:"nextPageToken of the part before; none for the first"`
}

func (in *listsWaiting) about(ctx context.Context, s *Server) (right.Resource, error) {
	return someOf(in.Scoped.about(ctx, s))
}

func (s *steering) listWaiting(ctx context.Context, in *listsWaiting) (*struct{ Body execution.WaitingList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	underWay := slices.DeleteFunc(plan.Statuses(), plan.Status.Terminal)
	page := store.Page{Limit: in.Limit, Token: in.PageToken}
	all, next, err := visible(ctx, page, action.ExecutionView, live.Resource, func(page store.Page) ([]store.Execution, string, error) {
		return s.Store.ListExecutions(ctx, store.ExecutionFilter{Scope: scope, Statuses: underWay}, page)
	})
	if err != nil {
		return nil, err
	}
	out := execution.WaitingList{Waiting: []execution.Waiting{}, NextPageToken: next}
	for _, e := range all {
		tree, err := s.Executions.Describe(ctx, e.ID, execution.Part{Status: execution.PeopleDecide()})
		if fault.Is(err, fault.NotFound) {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		out.Waiting = append(out.Waiting, tree.Waiting()...)
	}
	return &struct{ Body execution.WaitingList }{out}, nil
}
