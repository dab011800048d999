package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// listsFires asks for what a trigger in the path did.
type listsFires struct {
	Scoped
	Paged
	Pipeline string `path:"pipeline" maxLength:"128"`
	Trigger  string `path:"trigger" maxLength:"128"`
}

func (in *listsFires) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.Pipeline}, err
}

func (in *listsFires) key(ctx context.Context) (store.EntityKey, error) {
	scope, err := in.scope(ctx)
	return store.EntityKey{Scope: scope, Kind: ref.Trigger, Env: in.Pipeline, ID: in.Trigger}, err
}

// FireList is a part of a trigger's history.
type FireList struct {
	Fires         []Fire `json:"fires" nullable:"false"`
	NextPageToken string `json:"nextPageToken,omitempty"`
}

func (s *Server) triggers() {
	handle(s, action.TriggerView, huma.Operation{
		OperationID: "listFires", Method: http.MethodGet, Path: "/v1/pipelines/{pipeline}/triggers/{trigger}/fires", Tags: []string{"Triggers"},
		Summary: "List what a trigger did in the last 30 days, newest first",
	}, s.steering.listFires)
}

func (s *steering) listFires(ctx context.Context, in *listsFires) (*struct{ Body FireList }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.Entity(ctx, key); err != nil {
		return nil, err
	}
	fires, next, err := s.Store.ListFires(ctx, key, s.Now().Add(-store.FiresKept), in.page())
	if err != nil {
		return nil, err
	}
	out := FireList{Fires: make([]Fire, len(fires)), NextPageToken: next}
	for i, f := range fires {
		out.Fires[i] = fireOf(f)
	}
	return &struct{ Body FireList }{out}, nil
}
