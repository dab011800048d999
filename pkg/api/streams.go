package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit/stream"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// seesStreams is a request about the account's streaming destinations: who may see
// their documents may see how far the trail has come to them.
type seesStreams struct{ ofTheAccount }

func (in seesStreams) about(ctx context.Context, s *Server) (right.Resource, error) {
	of, err := in.ofTheAccount.about(ctx, s)
	of.Type = action.TypeOf(ref.StreamingDestination)
	return of, err
}

func auditStreams(s *Server) {
	handle(s, action.EntityView, huma.Operation{
		OperationID: "listAuditStreams", Method: http.MethodGet, Path: "/v1/audit/destinations", Tags: []string{"Audit"},
		Summary: "Tell how far the account's audit trail has come to each streaming destination",
	}, func(ctx context.Context, _ *seesStreams) (*struct{ Body stream.AuditStreams }, error) {
		found, err := s.Stream.Destinations(ctx)
		return &struct{ Body stream.AuditStreams }{found}, err
	})
}
