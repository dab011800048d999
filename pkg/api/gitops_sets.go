package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func gitOpsSets(s *Server) {
	g, tags := reconciledOf(s), []string{"GitOps"}
	const one = "/v1/gitops/applicationsets/{agent}/{name}"
	handle(s, action.GitOpsSetView, huma.Operation{
		OperationID: "listGitOpsApplicationSets", Method: http.MethodGet, Path: "/v1/gitops/applicationsets", Tags: tags, Summary: "List the application sets of a scope",
	}, g.listSets)
	handle(s, action.GitOpsSetView, huma.Operation{
		OperationID: "getGitOpsApplicationSet", Method: http.MethodGet, Path: one, Tags: tags, Summary: "Get an application set",
	}, g.getSet)
	handle(s, action.GitOpsSetDelete, huma.Operation{
		OperationID: "deleteGitOpsApplicationSet", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Delete an application set with its applications, as their finalizers say",
	}, g.deleteSet)
	handle(s, action.GitOpsSetEdit, huma.Operation{
		OperationID: "refreshGitOpsApplicationSet", Method: http.MethodPost, Path: one + "/refresh", Tags: tags, Summary: "Ask for an application set to be made anew",
	}, g.refreshSet)
	handle(s, action.GitOpsSetView, huma.Operation{
		OperationID: "generateGitOpsApplicationSet", Method: http.MethodPost, Path: one + "/generate", Tags: tags,
		Summary: "Ask which applications an application set would have, which needn't be saved",
	}, g.generateSet)
	handle(s, action.GitOpsSetView, huma.Operation{
		OperationID: "getGitOpsApplicationSetRequest", Method: http.MethodGet, Path: one + "/requests/{request}", Tags: tags, Summary: "Tell what became of a request about an application set",
	}, g.requestOfSet)
}

// setKey is the set that a request names.
func setKey(ctx context.Context, in OfApplication) (store.EntityKey, error) {
	key, err := in.key(ctx)
	key.Kind = ref.GitOpsApplicationSet
	return key, err
}

// setOf is a set as people see it.
func setOf(e store.Entity, set *appset.Set, known store.GitOpsApp, reported bool) display.ApplicationSet {
	out := display.ApplicationSet{
		Agent: e.Key.Env, Name: e.Key.ID, Org: e.Key.Scope.Org, Project: e.Key.Scope.Project, Version: e.Version,
		ArgoProject: cmp.Or(set.Spec.Template.Spec.Project, "default"), SyncPolicy: appset.SyncAll, Generators: []string{}, Sources: []display.SetSource{},
		Conditions: []protocol.SetCondition{}, Applications: []string{},
	}
	for i := range set.Spec.Generators {
		out.Generators = append(out.Generators, set.Spec.Generators[i].Kind())
	}
	for _, src := range set.Spec.Template.Spec.All() {
		out.Sources = append(out.Sources, display.SetSource{RepoURL: src.RepoURL, Path: cmp.Or(src.Path, src.Chart), TargetRevision: src.TargetRevision})
	}
	if p := set.Spec.SyncPolicy; p != nil {
		out.SyncPolicy, out.Preserves = cmp.Or(p.ApplicationsSync, appset.SyncAll), p.PreserveResourcesOnDeletion
	}
	if reported && known.Summary.Set != nil {
		out.Known, out.ReportedAt = true, known.At
		out.Conditions, out.Applications = list(known.Summary.Set.Conditions), list(known.Summary.Set.Applications)
		out.Count, out.Statuses = len(out.Applications), known.Summary.Set.Statuses
	}
	return out
}

func (s *reconciled) listSets(ctx context.Context, in *struct {
	Scoped
	Paged
	Agent string `query:"agent" maxLength:"160" doc:"Those of an agent, as a reference; none means all"`
	Label string `query:"label" maxLength:"512" doc:"Those with labels: key=value, several with commas"`
	Argo  string `query:"argoProject" maxLength:"253" doc:"Those whose template is of a project of Argo CD"`
}) (*struct{ Body display.ApplicationSetList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	agent := ""
	if in.Agent != "" {
		r, err := ref.Parse(in.Agent, scope)
		if err != nil {
			return nil, invalid("agent: %w", err)
		}
		agent = r.Text(scope)
	}
	found, next, err := s.Store.ListEntities(ctx, scope, ref.GitOpsApplicationSet, agent, in.page())
	if err != nil {
		return nil, err
	}
	keys := make([]store.EntityKey, len(found))
	for i, e := range found {
		keys[i] = e.Key
	}
	known, err := s.Mirror.Known(ctx, keys...)
	if err != nil {
		return nil, err
	}
	out := display.ApplicationSetList{NextPageToken: next}
	for _, e := range found {
		read, err := s.Mirror.Decoded(e)
		if err != nil {
			return nil, err
		}
		k, reported := known[e.Key]
		one := setOf(e, read.ApplicationSet, k, reported)
		one.Applications = []string{}
		if (in.Argo == "" || one.ArgoProject == in.Argo) && labelled(read.ApplicationSet.Meta.Labels, in.Label) {
			out.Sets = append(out.Sets, one)
		}
	}
	out.Sets = list(out.Sets)
	return &struct{ Body display.ApplicationSetList }{out}, nil
}

func (s *reconciled) getSet(ctx context.Context, in *OfApplication) (*struct{ Body display.ApplicationSet }, error) {
	key, err := setKey(ctx, *in)
	if err != nil {
		return nil, err
	}
	e, err := s.Store.Entity(ctx, key)
	if err != nil {
		return nil, err
	}
	read, err := s.Mirror.Decoded(e)
	if err != nil {
		return nil, err
	}
	known, err := s.Mirror.Known(ctx, key)
	if err != nil {
		return nil, err
	}
	k, reported := known[key]
	out := setOf(e, read.ApplicationSet, k, reported)
	out.Set, err = json.Marshal(read.ApplicationSet)
	return &struct{ Body display.ApplicationSet }{out}, err
}

func (s *reconciled) deleteSet(ctx context.Context, in *struct {
	OfApplication
	Versioned
}) (*askedAnswer, error) {
	key, err := setKey(ctx, in.OfApplication)
	if err != nil {
		return nil, err
	}
	e, err := s.Store.Entity(ctx, key)
	if err != nil {
		return nil, err
	}
	if in.Version >= 0 && in.Version != e.Version {
		return nil, fault.New(fault.StaleVersion, "%s has version %d; found version %d in the request", key.Describe(), e.Version, in.Version)
	}
	// The agent is asked first, as for an application.
	asked, err := s.Mirror.Ask(ctx, key, protocol.Request{Kind: protocol.RequestDelete, Cascade: true}, author(ctx))
	if err != nil {
		return nil, err
	}
	if err := s.Catalog.Delete(ctx, key, in.Version, author(ctx), deleter(ctx)); err != nil {
		return nil, err
	}
	return &askedAnswer{display.Request{Request: asked}}, nil
}

func (s *reconciled) askSet(ctx context.Context, in OfApplication, r protocol.Request) (*askedAnswer, error) {
	key, err := setKey(ctx, in)
	if err != nil {
		return nil, err
	}
	asked, err := s.Mirror.Ask(ctx, key, r, author(ctx))
	if err != nil {
		return nil, err
	}
	asked.Generate = nil // it is the caller's
	return &askedAnswer{display.Request{Request: asked}}, nil
}

func (s *reconciled) refreshSet(ctx context.Context, in *OfApplication) (*askedAnswer, error) {
	return s.askSet(ctx, *in, protocol.Request{Kind: protocol.RequestRefresh})
}

func (s *reconciled) generateSet(ctx context.Context, in *struct {
	OfApplication
	Body display.Generate
}) (*askedAnswer, error) {
	key, err := setKey(ctx, in.OfApplication)
	if err != nil {
		return nil, err
	}
	set, err := s.Mirror.Set(ctx, key, []byte(in.Body.YAML))
	if err != nil {
		return nil, err
	}
	doc, err := json.Marshal(set)
	if err != nil {
		return nil, fault.New(fault.Internal, "encode an application set: %w", err)
	}
	return s.askSet(ctx, in.OfApplication, protocol.Request{Kind: protocol.RequestGenerate, Generate: doc})
}

func (s *reconciled) requestOfSet(ctx context.Context, in *struct {
	OfApplication
	Request string `path:"request" maxLength:"64"`
}) (*askedAnswer, error) {
	key, err := setKey(ctx, in.OfApplication)
	if err != nil {
		return nil, err
	}
	r, err := s.Mirror.Asked(ctx, key, in.Request)
	if err != nil {
		return nil, err
	}
	r.Request.Generate = nil
	return &askedAnswer{display.Request{Request: r.Request, Result: r.Result}}, nil
}
