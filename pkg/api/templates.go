package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
)

// StableVersion names the version of a template that links without a version
// mean.
type StableVersion struct {
	VersionLabel string `json:"versionLabel" minLength:"1" maxLength:"128"`
}

func (s *Server) templates() {
	handle(s, huma.Operation{
		OperationID: "setStableTemplate", Method: http.MethodPut, Path: "/v1/templates/{id}/stable", Tags: []string{"Entities"},
		Summary: "Say which version of a template links without a version mean, from the next run on",
	}, s.setStableTemplate)
}

func (s *Server) setStableTemplate(ctx context.Context, in *struct {
	Scoped
	ID   string `path:"id" maxLength:"128"`
	Body StableVersion
}) (*nothing, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Catalog.SetStable(ctx, ref.Ref{Scope: scope, ID: in.ID}, in.Body.VersionLabel, author(ctx))
}

// getTemplate gives the version of a template that a key names, or the stable
// one.
func (s *Server) getTemplate(ctx context.Context, key store.EntityKey) (*struct{ Body Entity }, error) {
	id, label := template.SplitID(key.ID)
	found, err := catalog.Template(ctx, s.Store, ref.Ref{Scope: key.Scope, ID: id}, label)
	if err != nil {
		return nil, err
	}
	out := []Entity{entityOf(found)}
	err = s.markStable(ctx, key.Scope, out)
	return &struct{ Body Entity }{out[0]}, err
}

// markStable marks those versions of a scope's templates that are stable.
func (s *Server) markStable(ctx context.Context, scope ref.Scope, list []Entity) error {
	labels, err := s.Catalog.StableTemplates(ctx, scope)
	if err != nil {
		return err
	}
	for i, e := range list {
		id, label := template.SplitID(e.ID)
		list[i].Stable = labels[id] == label
	}
	return nil
}
