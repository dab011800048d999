package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func gitOpsDocuments(s *Server) {
	g := reconciledOf(s)
	handle(s, action.EntityView, huma.Operation{
		OperationID: "listGitOpsDocuments", Method: http.MethodGet, Path: "/v1/gitops/documents/{kind}", Tags: []string{"GitOps"},
		Summary: "List what GitOps agents keep beside applications, without what opens it",
	}, g.listDocuments)
}

// listsDocuments asks for what agents keep.
type listsDocuments struct {
	Scoped
	Paged
	Kind  ref.Kind `path:"kind" enum:"gitopsSettings,gitopsCertificate,gitopsGpgKey,gitopsRepoCredentials,gitopsRepository,gitopsCluster,gitopsProject"`
	Agent string   `query:"agent" maxLength:"160" doc:"Those of an agent, as a reference; none means those of all agents of the scope"`
}

// place is where the documents are, and whose.
func (in *listsDocuments) place(ctx context.Context) (ref.Scope, string, error) {
	scope, err := in.scope(ctx)
	if err != nil || in.Agent == "" {
		return scope, "", err
	}
	r, err := ref.Parse(in.Agent, scope)
	if err != nil {
		return ref.Scope{}, "", invalid("agent: %w", err)
	}
	return r.Scope, r.ID, access.Check(caller(ctx), r.Scope)
}

func (in *listsDocuments) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, _, err := in.place(ctx)
	return right.Resource{Type: action.TypeOf(in.Kind), Scope: scope}, err
}

func (s *reconciled) listDocuments(ctx context.Context, in *listsDocuments) (*struct{ Body display.DocumentList }, error) {
	scope, agent, err := in.place(ctx)
	if err != nil {
		return nil, err
	}
	found, next, err := s.Store.ListEntities(ctx, scope, in.Kind, agent, in.page())
	if err != nil {
		return nil, err
	}
	out := display.DocumentList{Documents: make([]display.Document, len(found)), NextPageToken: next}
	for i, e := range found {
		read, err := s.Mirror.Decoded(e)
		if err != nil {
			return nil, err
		}
		out.Documents[i] = documentOf(e, read)
	}
	return &struct{ Body display.DocumentList }{out}, nil
}

// documentOf is a document as people see it.
func documentOf(e store.Entity, read *entity.Entity) display.Document {
	out := display.Document{
		Kind: e.Key.Kind, ID: e.Key.ID, Agent: e.Key.Env, Org: e.Key.Scope.Org, Project: e.Key.Scope.Project, Version: e.Version, UpdatedAt: e.UpdatedAt,
		Settings: read.Settings, ArgoProject: read.AppProject,
	}
	if r := read.Repository; r != nil {
		out.Repository = &display.Repository{
			URL: r.URL, Type: cmp.Or(string(r.Type), "git"), Name: r.Name, Project: r.Project, Username: r.Username,
			Credentials: len(read.Values.Found) > 0 || r.Username != "" || r.AzureIdentity, Insecure: r.Insecure, EnableOCI: r.EnableOCI, EnableLFS: r.EnableLFS,
		}
	}
	if c := read.Cluster; c != nil {
		out.Cluster = &display.Cluster{
			Server: c.Server, Name: cmp.Or(c.Name, c.Server), Project: c.Project, Namespaces: c.Namespaces, ClusterResources: c.ClusterResources,
			Shard: c.Shard, Labels: c.Labels,
		}
	}
	for _, c := range read.Certificates {
		out.Certificates = append(out.Certificates, display.CertificateOf(c))
	}
	for _, k := range read.Keys {
		out.Keys = append(out.Keys, display.Key{KeyID: k.ID})
	}
	return out
}
