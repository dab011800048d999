package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/display"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// GitOps asks for what GitOps agents keep, and asks them for something.
type GitOps struct{ Client *Client }

// Agents lists the agents of a scope.
func (g GitOps) Agents(ctx context.Context, scope ref.Scope, page Page) ([]display.Agent, string, error) {
	l, err := get[display.AgentList](ctx, g.Client, path("gitops", "agents"), page.in(scoped(scope)))
	return l.Agents, l.NextPageToken, err
}

// Agent gets one, by its reference.
func (g GitOps) Agent(ctx context.Context, scope ref.Scope, agent string) (display.Agent, error) {
	return get[display.Agent](ctx, g.Client, path("gitops", "agents", agent), scoped(scope))
}

// MoveAgent lets an agent be in another cluster: the one whose process says next that it
// is the agent. Back takes that back as long as there is none.
func (g GitOps) MoveAgent(ctx context.Context, scope ref.Scope, agent string, back bool) error {
	q := scoped(scope)
	if back {
		q.Set("back", "true")
	}
	_, err := post[struct{}](ctx, g.Client, path("gitops", "agents", agent, "move"), q, nil)
	return err
}

// Documents lists what the agents of a scope, or one of them, keep of a kind beside
// applications.
func (g GitOps) Documents(ctx context.Context, scope ref.Scope, kind ref.Kind, agent string, page Page) ([]display.Document, string, error) {
	q := scoped(scope)
	set(q, "agent", agent)
	l, err := get[display.DocumentList](ctx, g.Client, path("gitops", "documents", string(kind)), page.in(q))
	return l.Documents, l.NextPageToken, err
}

// ApplicationFilter says which applications are listed. Empty fields are any.
type ApplicationFilter struct {
	Agent, Sync, Health, Label, ArgoProject, Repo, Cluster string
}

// Applications lists those of a scope. A page may have fewer than its limit
// although more follow.
func (g GitOps) Applications(ctx context.Context, scope ref.Scope, f ApplicationFilter, page Page) ([]display.Application, string, error) {
	q := scoped(scope)
	for name, value := range map[string]string{
		"agent": f.Agent, "sync": f.Sync, "health": f.Health, "label": f.Label, "argoProject": f.ArgoProject, "repo": f.Repo, "cluster": f.Cluster,
	} {
		set(q, name, value)
	}
	l, err := get[display.ApplicationList](ctx, g.Client, path("gitops", "applications"), page.in(q))
	return l.Applications, l.NextPageToken, err
}

// ApplicationKey names an application.
type ApplicationKey struct {
	Scope ref.Scope
	Agent string // as a reference
	Name  string
}

func (k ApplicationKey) path(more ...string) string {
	return path(append([]string{"gitops", "applications", k.Agent, k.Name}, more...)...)
}

func (k ApplicationKey) query() url.Values { return scoped(k.Scope) }

// Application gets one.
func (g GitOps) Application(ctx context.Context, k ApplicationKey) (display.Application, error) {
	return get[display.Application](ctx, g.Client, k.path(), k.query())
}

// Delete deletes an application, and what it has deployed with cascade.
func (g GitOps) Delete(ctx context.Context, k ApplicationKey, cascade bool) (display.Request, error) {
	q := k.query()
	q.Set("cascade", strconv.FormatBool(cascade))
	return call[display.Request](ctx, g.Client, request{method: http.MethodDelete, path: k.path(), query: q})
}

// History lists how an application was synced, the newest first.
func (g GitOps) History(ctx context.Context, k ApplicationKey, page Page) ([]gitops.HistoryEntry, string, error) {
	l, err := get[display.HistoryList](ctx, g.Client, k.path("history"), page.in(k.query()))
	return l.History, l.NextPageToken, err
}

// Sync asks for a sync.
func (g GitOps) Sync(ctx context.Context, k ApplicationKey, in display.Sync) (display.Request, error) {
	return post[display.Request](ctx, g.Client, k.path("sync"), k.query(), in)
}

// Refresh asks for a comparison.
func (g GitOps) Refresh(ctx context.Context, k ApplicationKey, hard bool) (display.Request, error) {
	return post[display.Request](ctx, g.Client, k.path("refresh"), k.query(), map[string]bool{"hard": hard})
}

// Rollback asks to go back to a sync of the history.
func (g GitOps) Rollback(ctx context.Context, k ApplicationKey, in display.Rollback) (display.Request, error) {
	return post[display.Request](ctx, g.Client, k.path("rollback"), k.query(), in)
}

// Terminate asks for the operation under way to end.
func (g GitOps) Terminate(ctx context.Context, k ApplicationKey) (display.Request, error) {
	return call[display.Request](ctx, g.Client, request{method: http.MethodPost, path: k.path("terminate"), query: k.query()})
}

// Resources asks for the objects of an application: the result's data.
func (g GitOps) Resources(ctx context.Context, k ApplicationKey) (display.Request, error) {
	return call[display.Request](ctx, g.Client, request{method: http.MethodPost, path: k.path("resources"), query: k.query()})
}

// Look asks for something to be shown: the last part of its path is one of diff,
// manifests, tree, logs, events and actions. The result's data has it.
func (g GitOps) Look(ctx context.Context, k ApplicationKey, what string, in protocol.Look) (display.Request, error) {
	return post[display.Request](ctx, g.Client, k.path(what), k.query(), in)
}

// Touch asks for live objects to be changed: by actions/run, patch-resource or
// delete-resource.
func (g GitOps) Touch(ctx context.Context, k ApplicationKey, in protocol.Touch, how ...string) (display.Request, error) {
	return post[display.Request](ctx, g.Client, k.path(how...), k.query(), in)
}

// Hold asks for an application to stay what it is.
func (g GitOps) Hold(ctx context.Context, k ApplicationKey, in protocol.Hold) (display.Request, error) {
	return sendJSON[display.Request](ctx, g.Client, request{method: http.MethodPut, path: k.path("hold"), query: k.query()}, in)
}

// Release asks for the end of a hold.
func (g GitOps) Release(ctx context.Context, k ApplicationKey) (display.Request, error) {
	return call[display.Request](ctx, g.Client, request{method: http.MethodDelete, path: k.path("hold"), query: k.query()})
}

// Request tells what became of a request.
func (g GitOps) Request(ctx context.Context, k ApplicationKey, id string) (display.Request, error) {
	return get[display.Request](ctx, g.Client, k.path("requests", id), k.query())
}

// SetFilter says which sets are listed. Empty fields are any.
type SetFilter struct{ Agent, Label, ArgoProject string }

// Sets lists the application sets of a scope.
func (g GitOps) Sets(ctx context.Context, scope ref.Scope, f SetFilter, page Page) ([]display.ApplicationSet, string, error) {
	q := scoped(scope)
	for name, value := range map[string]string{"agent": f.Agent, "label": f.Label, "argoProject": f.ArgoProject} {
		set(q, name, value)
	}
	l, err := get[display.ApplicationSetList](ctx, g.Client, path("gitops", "applicationsets"), page.in(q))
	return l.Sets, l.NextPageToken, err
}

func (k ApplicationKey) set(more ...string) string {
	return path(append([]string{"gitops", "applicationsets", k.Agent, k.Name}, more...)...)
}

// Set gets an application set.
func (g GitOps) Set(ctx context.Context, k ApplicationKey) (display.ApplicationSet, error) {
	return get[display.ApplicationSet](ctx, g.Client, k.set(), k.query())
}

// DeleteSet deletes one with its applications.
func (g GitOps) DeleteSet(ctx context.Context, k ApplicationKey) (display.Request, error) {
	return call[display.Request](ctx, g.Client, request{method: http.MethodDelete, path: k.set(), query: k.query()})
}

// RefreshSet asks for one to be made anew.
func (g GitOps) RefreshSet(ctx context.Context, k ApplicationKey) (display.Request, error) {
	return call[display.Request](ctx, g.Client, request{method: http.MethodPost, path: k.set("refresh"), query: k.query()})
}

// GenerateSet asks which applications a document would come to: the result's data.
func (g GitOps) GenerateSet(ctx context.Context, k ApplicationKey, in display.Generate) (display.Request, error) {
	return post[display.Request](ctx, g.Client, k.set("generate"), k.query(), in)
}

// SetRequest tells what became of a request about a set.
func (g GitOps) SetRequest(ctx context.Context, k ApplicationKey, id string) (display.Request, error) {
	return get[display.Request](ctx, g.Client, k.set("requests", id), k.query())
}
