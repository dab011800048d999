package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/freeze/calendar"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// freezeFeedPath is what calendar programs subscribe to.
const freezeFeedPath = "/v1/freezes/calendar.ics"

// listsFreezes is a request about the freezes of a scope and of those around it:
// who may see what they stop may see when.
type listsFreezes struct{ Scoped }

func (in listsFreezes) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Type: action.TypeOf(ref.Freeze), Scope: scope}, err
}

// looksAhead is one about their windows.
type looksAhead struct {
	Scoped
	Days int `query:"days" minimum:"1" maximum:"366" default:"90" doc:"So many days ahead"`
}

func (in looksAhead) about(ctx context.Context, s *Server) (right.Resource, error) {
	return listsFreezes{in.Scoped}.about(ctx, s)
}

func freezes(s *Server) {
	tags := []string{"Freezes"}
	reader := calendar.New(s.Config.Store.Entities)
	handle(s, action.EntityView, huma.Operation{
		OperationID: "listFreezes", Method: http.MethodGet, Path: "/v1/freezes", Tags: tags,
		Summary: "List the deployment freezes that count in a scope, with the window that is open or comes next",
	}, func(ctx context.Context, in *listsFreezes) (*struct{ Body calendar.Freezes }, error) {
		scope, err := in.scope(ctx)
		if err != nil {
			return nil, err
		}
		found, err := reader.List(ctx, scope, s.Config.Now())
		return &struct{ Body calendar.Freezes }{found}, err
	})
	handle(s, action.EntityView, huma.Operation{
		OperationID: "getFreezeCalendar", Method: http.MethodGet, Path: freezeFeedPath, Tags: tags,
		Summary: "The windows of the enabled freezes that count in a scope, for calendar programs; they may send the token as the password of HTTP's basic authentication",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"text/calendar": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, func(ctx context.Context, in *looksAhead) (*huma.StreamResponse, error) {
		scope, err := in.scope(ctx)
		if err != nil {
			return nil, err
		}
		now := s.Config.Now()
		feed, err := reader.Feed(ctx, scope, now, now.Add(time.Duration(in.Days)*24*time.Hour))
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", "text/calendar; charset=utf-8")
			_, _ = hc.BodyWriter().Write(feed) // whoever asked may have gone
		}}, err
	})
}
