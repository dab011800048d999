package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// AskVersions says which versions are asked for.
type AskVersions struct {
	Source string `json:"source,omitempty" maxLength:"128" doc:"An artifact source or a sidecar; without it the primary artifact"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"20" doc:"At most so many"`
}

// AskedVersions says where the answer will be.
type AskedVersions struct {
	Execution string `json:"execution" doc:"The id of the execution that asks"`
}

// ArtifactVersions are those that a delegate has found.
type ArtifactVersions struct {
	Status   plan.Status              `json:"status" doc:"Of the execution that asks"`
	Message  string                   `json:"message,omitempty" doc:"Why they aren't known"`
	Versions []lookup.ArtifactVersion `json:"versions" nullable:"false" doc:"The newest first"`
}

func (s *Server) versions() {
	tags := []string{"Services"}
	handle(s, action.ServiceAccess, huma.Operation{
		OperationID: "askArtifactVersions", Method: http.MethodPost, Path: "/v1/services/{service}/artifacts", Tags: tags,
		Summary: "Have a delegate list the versions of a service's artifact",
	}, inTurn(s, s.askVersions))
	handle(s, action.ServiceView, huma.Operation{
		OperationID: "getArtifactVersions", Method: http.MethodGet, Path: "/v1/executions/{execution}/artifacts", Tags: tags,
		Summary: "Get the versions that a delegate has found",
	}, s.steering.getVersions)
}

func (s *Server) askVersions(ctx context.Context, in *struct {
	OfService
	Keyed
	Body    AskVersions `required:"false"`
	RawBody []byte
}) (*struct{ Body AskedVersions }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	body, err := once(ctx, s.kept, in.Keyed, in.RawBody, fmt.Sprint("askArtifactVersions ", scope, in.Service), func(key string) (AskedVersions, error) {
		e, err := s.Executions.StartVersions(ctx, execution.VersionsRequest{
			Scope: scope, Service: in.Service, Source: in.Body.Source, Limit: max(in.Body.Limit, 1), By: author(ctx), Key: key,
		})
		return AskedVersions{Execution: e.ID}, err
	})
	return &struct{ Body AskedVersions }{body}, err
}

func (s *steering) getVersions(ctx context.Context, in *ofLookup) (*struct{ Body ArtifactVersions }, error) {
	e, list, message, err := s.Executions.Versions(ctx, in.ID)
	if list == nil {
		list = []lookup.ArtifactVersion{}
	}
	return &struct{ Body ArtifactVersions }{ArtifactVersions{Status: e.Status, Message: message, Versions: list}}, err
}
