package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// listsEvaluations asks for what policies came to in a scope: who may see its policy
// sets may see that, with what they were asked about.
type listsEvaluations struct {
	Scoped
	Paged
	Execution string `query:"execution" maxLength:"128" doc:"Only those in an execution of the scope; none: all of the scope itself"`
}

func (in *listsEvaluations) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Type: action.TypeOf(ref.PolicySet), Scope: scope}, err
}

// readsEvaluation asks for one of them.
type readsEvaluation struct {
	Scoped
	ID string `path:"evaluation" maxLength:"128" doc:"The evaluation's id"`
}

func (in *readsEvaluation) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Type: action.TypeOf(ref.PolicySet), Scope: scope}, err
}

func evaluations(s *Server) {
	tags := []string{"Policies"}
	kept, now := s.Config.Store.Evaluations, s.Config.Now
	handle(s, action.EntityView, huma.Operation{
		OperationID: "listEvaluations", Method: http.MethodGet, Path: "/v1/evaluations", Tags: tags,
		Summary: "List what policies came to that denied, warned or were asked before a run, newest first",
	}, func(ctx context.Context, in *listsEvaluations) (*struct{ Body policy.EvaluationList }, error) {
		scope, err := in.scope(ctx)
		if err != nil {
			return nil, err
		}
		if in.Execution != "" {
			e, err := s.Config.Store.Execution(ctx, in.Execution)
			if err == nil && e.Scope != scope {
				err = notFound("no execution %q in %s", in.Execution, scope)
			}
			if err != nil {
				return nil, err
			}
		}
		list, next, err := kept.ListEvaluations(ctx, store.EvaluationsOf{Scope: scope, Execution: in.Execution}, now(), in.page())
		if err != nil {
			return nil, err
		}
		out := policy.EvaluationList{Evaluations: list, NextPageToken: next}
		if list == nil {
			out.Evaluations = []policy.Evaluation{}
		}
		return &struct{ Body policy.EvaluationList }{out}, nil
	})
	handle(s, action.EntityView, huma.Operation{
		OperationID: "getEvaluation", Method: http.MethodGet, Path: "/v1/evaluations/{evaluation}", Tags: tags,
		Summary: "Tell what policies came to, and what they were asked about",
	}, func(ctx context.Context, in *readsEvaluation) (*struct{ Body policy.WithInput }, error) {
		scope, err := in.scope(ctx)
		if err != nil {
			return nil, err
		}
		e, input, err := kept.Evaluation(ctx, scope.Account, in.ID, now())
		if err == nil && e.Scope != scope {
			err = store.NoEvaluation(in.ID)
		}
		if err != nil {
			return nil, err
		}
		out := policy.WithInput{Evaluation: e, Bytes: len(input)}
		if len(input) <= policy.MaxShown {
			out.Input = input
		}
		return &struct{ Body policy.WithInput }{out}, nil
	})
}
