package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/gitops/mirror"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// reconciled is what people see and do of GitOps.
type reconciled struct {
	Store   store.Entities
	Links   store.GitOps
	Mirror  *mirror.Mirror
	Catalog *catalog.Catalog
	// Heard says whether an agent was heard of lately.
	Heard func(ctx context.Context, l store.GitOpsLink) (bool, error)
}

func reconciledOf(s *Server) *reconciled {
	return &reconciled{Store: s.Store.Entities, Links: s.Store.GitOps, Mirror: s.GitOps, Catalog: s.Catalog, Heard: s.GitOps.Heard}
}

func gitOpsAgents(s *Server) {
	g, tags := reconciledOf(s), []string{"GitOps"}
	handle(s, action.GitOpsAgentView, huma.Operation{
		OperationID: "listGitOpsAgents", Method: http.MethodGet, Path: "/v1/gitops/agents", Tags: tags, Summary: "List the GitOps agents of a scope",
	}, g.listAgents)
	handle(s, action.GitOpsAgentView, huma.Operation{
		OperationID: "getGitOpsAgent", Method: http.MethodGet, Path: "/v1/gitops/agents/{agent}", Tags: tags, Summary: "Get a GitOps agent",
	}, g.getAgent)
	handle(s, action.GitOpsAgentEdit, huma.Operation{
		OperationID: "moveGitOpsAgent", Method: http.MethodPost, Path: "/v1/gitops/agents/{agent}/move", Tags: tags, Summary: "Let an agent be in another cluster",
		Description:   "It is in the cluster whose process says next that it is the agent. What is in the former one stays as it is, and nobody there is heard any more.",
		DefaultStatus: http.StatusNoContent,
	}, g.moveAgent)
}

func gitOpsApplications(s *Server) {
	g, tags := reconciledOf(s), []string{"GitOps"}
	const one = "/v1/gitops/applications/{agent}/{name}"
	handle(s, action.GitOpsApplicationView, huma.Operation{
		OperationID: "listGitOpsApplications", Method: http.MethodGet, Path: "/v1/gitops/applications", Tags: tags, Summary: "List the applications of a scope",
	}, g.listApplications)
	handle(s, action.GitOpsApplicationView, huma.Operation{
		OperationID: "getGitOpsApplication", Method: http.MethodGet, Path: one, Tags: tags, Summary: "Get an application",
	}, g.getApplication)
	handle(s, action.GitOpsApplicationDelete, huma.Operation{
		OperationID: "deleteGitOpsApplication", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Delete an application, and what it has deployed unless it is to stay",
	}, g.deleteApplication)
	handle(s, action.GitOpsApplicationView, huma.Operation{
		OperationID: "listGitOpsHistory", Method: http.MethodGet, Path: one + "/history", Tags: tags, Summary: "List how an application was synced, the newest first",
	}, g.history)
	handle(s, action.GitOpsApplicationSync, huma.Operation{
		OperationID: "syncGitOpsApplication", Method: http.MethodPost, Path: one + "/sync", Tags: tags, Summary: "Ask for a sync of an application",
	}, g.sync)
	handle(s, action.GitOpsApplicationView, huma.Operation{
		OperationID: "refreshGitOpsApplication", Method: http.MethodPost, Path: one + "/refresh", Tags: tags, Summary: "Ask for an application to be compared anew",
	}, g.refresh)
	handle(s, action.GitOpsApplicationSync, huma.Operation{
		OperationID: "rollbackGitOpsApplication", Method: http.MethodPost, Path: one + "/rollback", Tags: tags, Summary: "Ask for an application to go back to a sync of its history",
	}, g.rollback)
	handle(s, action.GitOpsApplicationSync, huma.Operation{
		OperationID: "terminateGitOpsOperation", Method: http.MethodPost, Path: one + "/terminate", Tags: tags, Summary: "Ask for the operation under way to end",
	}, g.terminate)
	handle(s, action.GitOpsApplicationView, huma.Operation{
		OperationID: "askGitOpsResources", Method: http.MethodPost, Path: one + "/resources", Tags: tags, Summary: "Ask for the objects of an application, each with how it is",
	}, g.resources)
	gitOpsLooks(s, g)
	handle(s, action.GitOpsApplicationView, huma.Operation{
		OperationID: "getGitOpsRequest", Method: http.MethodGet, Path: one + "/requests/{request}", Tags: tags, Summary: "Tell what became of a request",
	}, g.request)
}

func (s *reconciled) agentOf(ctx context.Context, e store.Entity) (display.Agent, error) {
	l, err := s.Mirror.Link(ctx, ref.Ref{Scope: e.Key.Scope, ID: e.Key.ID})
	if err != nil {
		return display.Agent{}, err
	}
	connected, err := s.Heard(ctx, l)
	return display.Agent{
		ID: e.Key.ID, Name: e.Name, Org: e.Key.Scope.Org, Project: e.Key.Scope.Project, Connected: connected, LastSeen: l.Seen,
		Version: l.Hello.Version, Namespace: l.Hello.Namespace, ClusterUID: l.Hello.ClusterUID, Kubernetes: l.Hello.Kubernetes,
	}, err
}

func (s *reconciled) listAgents(ctx context.Context, in *struct {
	Scoped
	Paged
}) (*struct{ Body display.AgentList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	found, next, err := s.Store.ListEntities(ctx, scope, ref.GitOpsAgent, "", in.page())
	if err != nil {
		return nil, err
	}
	out := display.AgentList{Agents: make([]display.Agent, len(found)), NextPageToken: next}
	for i, e := range found {
		if out.Agents[i], err = s.agentOf(ctx, e); err != nil {
			return nil, err
		}
	}
	return &struct{ Body display.AgentList }{out}, nil
}

// ofAgent names an agent.
type ofAgent struct {
	Scoped
	Agent string `path:"agent" maxLength:"160" doc:"As a reference, e.g. eu1 or account.eu1"`
}

func (o ofAgent) about(ctx context.Context, _ *Server) (right.Resource, error) {
	agent, err := o.agent(ctx)
	return right.Resource{Scope: agent.Scope, ID: agent.ID}, err
}

// agent is the one that is named, of a scope that the caller may see.
func (o ofAgent) agent(ctx context.Context) (ref.Ref, error) {
	scope, err := o.scope(ctx)
	if err != nil {
		return ref.Ref{}, err
	}
	agent, err := ref.Parse(o.Agent, scope)
	if err != nil {
		return ref.Ref{}, invalid("agent: %w", err)
	}
	return agent, access.Check(caller(ctx), agent.Scope)
}

// movesAgent is a request to let an agent be elsewhere.
type movesAgent struct {
	Scoped
	Agent string `path:"agent" maxLength:"160" doc:"As a reference, e.g. eu1 or account.eu1"`
	Back  bool   `query:"back" doc:"Let it be in the cluster again that it was moved away from, if no other has it yet"`
}

func (in *movesAgent) about(ctx context.Context, s *Server) (right.Resource, error) {
	return ofAgent{in.Scoped, in.Agent}.about(ctx, s)
}

func (s *reconciled) moveAgent(ctx context.Context, in *movesAgent) (*struct{}, error) {
	agent, err := ofAgent{in.Scoped, in.Agent}.agent(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Mirror.Move(ctx, agent, in.Back, author(ctx))
}

func (s *reconciled) getAgent(ctx context.Context, in *ofAgent) (*struct{ Body display.Agent }, error) {
	agent, err := in.agent(ctx)
	if err != nil {
		return nil, err
	}
	e, err := s.Store.Entity(ctx, mirror.AgentKey(agent))
	if err != nil {
		return nil, err
	}
	out, err := s.agentOf(ctx, e)
	return &struct{ Body display.Agent }{out}, err
}

// OfApplication names an application, or a set of them, in the path.
type OfApplication struct {
	Scoped
	display.Named
}

func (in OfApplication) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.Name}, err
}

func (in OfApplication) key(ctx context.Context) (store.EntityKey, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return store.EntityKey{}, err
	}
	agent, err := ref.Parse(in.Agent, scope)
	if err != nil {
		return store.EntityKey{}, invalid("agent: %w", err)
	}
	return store.EntityKey{Scope: scope, Kind: ref.GitOpsApplication, Env: agent.Text(scope), ID: in.Name}, nil
}

// applicationOf is an application as people see it.
func applicationOf(f mirror.Found) display.Application {
	app := f.Document
	out := display.Application{
		Agent: f.Key.Env, Name: f.Key.ID, Org: f.Key.Scope.Org, Project: f.Key.Scope.Project, Version: f.Version, Set: f.Set, Known: f.Reported,
		ArgoProject: app.Spec.Project, Destination: app.Spec.Destination, Sources: list(app.Spec.All()), SyncPolicy: policyOf(app.Spec.SyncPolicy),
	}
	if out.ArgoProject == "" {
		out.ArgoProject = "default"
	}
	if f.Reported {
		summary := f.Known.Summary
		summary.Generated = nil // which is what is shown
		out.Summary, out.ReportedAt = &summary, f.Known.At
	}
	return out
}

// policyOf is a policy in the words of argocd's lists.
func policyOf(p *gitops.SyncPolicy) string {
	if !p.On() {
		return "Manual"
	}
	text := "Auto"
	if p.Automated.Prune {
		text += "-Prune"
	}
	return text
}

func (s *reconciled) listApplications(ctx context.Context, in *struct {
	Scoped
	Paged
	Agent   string `query:"agent" maxLength:"160" doc:"Those of an agent, as a reference; none means all"`
	Sync    string `query:"sync" enum:"Synced,OutOfSync,Unknown" doc:"Those that are so"`
	Health  string `query:"health" enum:"Healthy,Suspended,Progressing,Missing,Degraded,Unknown" doc:"Those that are so"`
	Label   string `query:"label" maxLength:"512" doc:"Those with labels: key=value, several with commas"`
	Argo    string `query:"argoProject" maxLength:"253" doc:"Those of a project of Argo CD"`
	Repo    string `query:"repo" maxLength:"2048" doc:"Those with a source in a repository"`
	Cluster string `query:"cluster" maxLength:"2048" doc:"Those in a cluster, by its address or its name"`
}) (*struct{ Body display.ApplicationList }, error) {
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
	found, next, err := s.Mirror.List(ctx, scope, agent, in.page())
	if err != nil {
		return nil, err
	}
	out := display.ApplicationList{NextPageToken: next}
	for _, f := range found {
		app, k, reported := f.Document, f.Known, f.Reported
		one := applicationOf(f)
		wanted := (in.Sync == "" || string(k.Summary.Sync.Status) == in.Sync || !reported && in.Sync == "Unknown") &&
			(in.Health == "" || string(k.Summary.Health.Status) == in.Health || !reported && in.Health == "Unknown") &&
			(in.Argo == "" || one.ArgoProject == in.Argo) && labelled(app.Meta.Labels, in.Label) &&
			(in.Cluster == "" || one.Destination.Server == in.Cluster || one.Destination.Name == in.Cluster) &&
			(in.Repo == "" || slices.ContainsFunc(one.Sources, func(s gitops.Source) bool { return s.RepoURL == in.Repo }))
		if wanted {
			out.Applications = append(out.Applications, one)
		}
	}
	out.Applications = list(out.Applications)
	return &struct{ Body display.ApplicationList }{out}, nil
}

// labelled says whether something has all the labels that are asked for.
func labelled(have map[string]string, wanted string) bool {
	if wanted == "" {
		return true
	}
	for _, one := range strings.Split(wanted, ",") {
		key, value, said := strings.Cut(one, "=")
		got, ok := have[strings.TrimSpace(key)]
		if !ok || said && got != strings.TrimSpace(value) {
			return false
		}
	}
	return true
}

func (s *reconciled) getApplication(ctx context.Context, in *OfApplication) (*struct{ Body display.Application }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.Mirror.Find(ctx, key)
	if err != nil {
		return nil, err
	}
	out := applicationOf(f)
	out.Application, err = json.Marshal(f.Document)
	return &struct{ Body display.Application }{out}, err
}

func (s *reconciled) deleteApplication(ctx context.Context, in *struct {
	OfApplication
	Versioned
	Cascade bool `query:"cascade" default:"true" doc:"Delete what it has deployed, too"`
}) (*struct{ Body display.Request }, error) {
	key, err := in.OfApplication.key(ctx)
	if err != nil {
		return nil, err
	}
	e, err := s.Mirror.Find(ctx, key)
	if err != nil {
		return nil, err
	}
	if e.Set != "" {
		return nil, fault.New(fault.Conflict, "application %s is one of the application set %s, which would make it again; change that", key.ID, e.Set)
	}
	if in.Version >= 0 && in.Version != e.Version {
		return nil, fault.New(fault.StaleVersion, "%s has version %d; found version %d in the request", key.Describe(), e.Version, in.Version)
	}
	// The agent is asked first: what is asked of one that isn't there any more
	// could be lost.
	asked, err := s.Mirror.Ask(ctx, key, protocol.Request{Kind: protocol.RequestDelete, App: protocol.AppKey{Name: key.ID}, Cascade: in.Cascade}, author(ctx))
	if err != nil {
		return nil, err
	}
	if err := s.Catalog.Delete(ctx, key, in.Version, author(ctx), deleter(ctx)); err != nil {
		return nil, err
	}
	return &struct{ Body display.Request }{display.Request{Request: asked}}, nil
}

func (s *reconciled) history(ctx context.Context, in *struct {
	OfApplication
	Paged
}) (*struct{ Body display.HistoryList }, error) {
	key, err := in.OfApplication.key(ctx)
	if err != nil {
		return nil, err
	}
	found, next, err := s.Mirror.History(ctx, key, in.page())
	if err != nil {
		return nil, err
	}
	out := display.HistoryList{History: make([]gitops.HistoryEntry, len(found)), NextPageToken: next}
	for i, h := range found {
		out.History[i] = h.Entry
	}
	return &struct{ Body display.HistoryList }{out}, nil
}

type askedAnswer struct{ Body display.Request }

func (s *reconciled) ask(ctx context.Context, in OfApplication, r protocol.Request) (*askedAnswer, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := s.Mirror.Ask(ctx, key, r, author(ctx))
	if err != nil {
		return nil, err
	}
	return &askedAnswer{display.Request{Request: asked}}, nil
}

func (s *reconciled) sync(ctx context.Context, in *struct {
	OfApplication
	Body display.Sync
}) (*askedAnswer, error) {
	b := in.Body
	request := &gitops.SyncRequest{
		Revision: b.Revision, Revisions: b.Revisions, Prune: b.Prune, DryRun: b.DryRun, Resources: b.Resources, SyncOptions: b.SyncOptions,
	}
	force := &gitops.SyncStrategyForce{Force: b.Force}
	switch {
	case b.Apply:
		request.SyncStrategy = &gitops.SyncStrategy{Apply: force}
	case b.Force:
		request.SyncStrategy = &gitops.SyncStrategy{Hook: force}
	}
	o := &gitops.Operation{Sync: request, Info: b.Info}
	if b.Retry != nil {
		o.Retry = *b.Retry
	}
	return s.ask(ctx, in.OfApplication, protocol.Request{Kind: protocol.RequestSync, Operation: o})
}

func (s *reconciled) refresh(ctx context.Context, in *struct {
	OfApplication
	Body struct {
		Hard bool `json:"hard,omitempty" doc:"Render and compare everything anew, whatever was found before"`
	}
}) (*askedAnswer, error) {
	return s.ask(ctx, in.OfApplication, protocol.Request{Kind: protocol.RequestRefresh, Hard: in.Body.Hard})
}

func (s *reconciled) rollback(ctx context.Context, in *struct {
	OfApplication
	Body display.Rollback
}) (*askedAnswer, error) {
	return s.ask(ctx, in.OfApplication, protocol.Request{Kind: protocol.RequestRollback, History: in.Body.ID, Prune: in.Body.Prune, DryRun: in.Body.DryRun})
}

func (s *reconciled) terminate(ctx context.Context, in *OfApplication) (*askedAnswer, error) {
	return s.ask(ctx, *in, protocol.Request{Kind: protocol.RequestTerminate})
}

// resources asks the agent, if there is one to ask.
func (s *reconciled) resources(ctx context.Context, in *OfApplication) (*askedAnswer, error) {
	return s.ask(ctx, *in, protocol.Request{Kind: protocol.RequestResources})
}

func (s *reconciled) request(ctx context.Context, in *struct {
	OfApplication
	Request string `path:"request" maxLength:"64"`
}) (*askedAnswer, error) {
	key, err := in.OfApplication.key(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Mirror.Asked(ctx, key, in.Request)
	if err != nil {
		return nil, err
	}
	if r.Request.App.Name != key.ID {
		return nil, fault.New(fault.NotFound, "request %q isn't one about %s", in.Request, key.Describe())
	}
	return &askedAnswer{display.Request{Request: r.Request, Result: r.Result}}, nil
}
