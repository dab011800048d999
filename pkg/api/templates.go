package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
)

// StableVersion names the version of a template that links without a version
// mean.
type StableVersion struct {
	VersionLabel string `json:"versionLabel" minLength:"1" maxLength:"128"`
}

// ResolvedEntity is a document with what templates bring in place of the links
// to them, as a run that starts now would have it.
type ResolvedEntity struct {
	EntityKey
	Version   int64          `json:"version"`
	YAML      string         `json:"yaml" doc:"A line that a template brought ends with its name, its version and its line there"`
	Templates []templateUse  `json:"templates" nullable:"false" doc:"Outer before inner"`
	Findings  []fault.Detail `json:"findings" nullable:"false" doc:"What would stop a run"`
}

// templateUse is a place that links to a template.
type templateUse struct {
	Path     string `json:"path" doc:"Of the node that is made of it"`
	Line     int    `json:"line" doc:"Of the link, in the document or in the template that has it"`
	Column   int    `json:"column"`
	In       string `json:"in,omitempty" doc:"The template that has the link; empty: the document itself"`
	Template string `json:"template" doc:"e.g. org.build@v1"`
	Stable   bool   `json:"stable,omitempty" doc:"The link names no version"`
	Version  int64  `json:"version,omitempty" doc:"How often the template's version has been saved; 0: there is none"`
}

func (s *Server) templates() {
	handle(s, action.EntityView, huma.Operation{
		OperationID: "getResolvedEntity", Method: http.MethodGet, Path: "/v1/entities/{kind}/{id}/resolved", Tags: []string{"Entities"},
		Summary: "Show a document with what templates bring in place of the links to them",
	}, inTurn(s, s.saved.getResolved))
	handle(s, action.TemplateEdit, huma.Operation{
		OperationID: "setStableTemplate", Method: http.MethodPut, Path: "/v1/templates/{id}/stable", Tags: []string{"Entities"},
		Summary: "Say which version of a template links without a version mean, from the next run on",
	}, inTurn(s, s.saved.setStableTemplate))
}

// setsStable is a request that makes a template's version the stable one.
type setsStable struct {
	Scoped
	ID   string `path:"id" maxLength:"128"`
	Body StableVersion
}

func (in *setsStable) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.ID}, err
}

func (s *documents) setStableTemplate(ctx context.Context, in *setsStable) (*nothing, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Catalog.SetStable(ctx, ref.Ref{Scope: scope, ID: in.ID}, in.Body.VersionLabel, author(ctx))
}

func (s *documents) getResolved(ctx context.Context, in *OfEntity) (*struct{ Body ResolvedEntity }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Catalog.Resolved(ctx, key)
	if err != nil {
		return nil, err
	}
	out := ResolvedEntity{
		EntityKey: keyOf(r.Entity.Key), Version: r.Entity.Version, YAML: string(r.YAML), Templates: []templateUse{}, Findings: list(r.Findings),
	}
	for _, u := range r.Uses {
		out.Templates = append(out.Templates, templateUse{
			Path: u.Path, Line: u.At.Line, Column: u.At.Column, In: strings.TrimPrefix(u.At.File, "template "),
			Template: u.String(), Stable: u.Stable(), Version: u.Revision,
		})
	}
	return &struct{ Body ResolvedEntity }{out}, nil
}

// getTemplate gives the version of a template that a key names, or the stable
// one.
func (s *documents) getTemplate(ctx context.Context, key store.EntityKey) (*struct{ Body Entity }, error) {
	id, label := template.SplitID(key.ID)
	found, err := templatestore.Version(ctx, s.Store.Entity, ref.Ref{Scope: key.Scope, ID: id}, label)
	if err != nil {
		return nil, err
	}
	out := []Entity{entityOf(found)}
	err = s.markStable(ctx, key.Scope, out)
	return &struct{ Body Entity }{out[0]}, err
}

// markStable marks those versions of a scope's templates that are stable.
func (s *documents) markStable(ctx context.Context, scope ref.Scope, list []Entity) error {
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
