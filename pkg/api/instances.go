package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Placement is a service's release in a place, and what runs of it.
type Placement struct {
	Org            string            `json:"org,omitempty"`
	Project        string            `json:"project,omitempty"`
	Service        string            `json:"service" doc:"As its stage names it, e.g. account.web"`
	Environment    string            `json:"environment"`
	Infrastructure string            `json:"infrastructure,omitempty"`
	Namespace      string            `json:"namespace"`
	Release        string            `json:"release"`
	Revision       string            `json:"revision,omitempty" doc:"The release's number"`
	Artifact       string            `json:"artifact,omitempty" doc:"What was deployed last"`
	Deployed       Deployed          `json:"deployed"`
	Count          int               `json:"count" doc:"How many instances there are"`
	Versions       []Version         `json:"versions" nullable:"false" doc:"How many instances there are of each version of the artifact"`
	Instances      []ServiceInstance `json:"instances" nullable:"false"`
	Watched        bool              `json:"watched" doc:"A connected delegate reports changes within seconds; else this is what was seen last"`
	SeenAt         time.Time         `json:"seenAt" doc:"Of the last report; while nothing changes there is one an hour"`
	Trouble        string            `json:"trouble,omitempty" doc:"Why the place can't be looked at; the instances are the last that are known"`
	Drift          []string          `json:"drift,omitempty" nullable:"false" doc:"How the workloads differ from what was deployed"`
}

// Deployed is the step that changed a placement last.
type Deployed struct {
	Action    string      `json:"action" doc:"applied, scaled, rolled back, deleted, ..."`
	Pipeline  string      `json:"pipeline"`
	Execution string      `json:"execution"`
	Stage     plan.NodeID `json:"stage"`
	Step      plan.NodeID `json:"step"`
	Actor     string      `json:"actor,omitempty" doc:"Who started the execution"`
	At        time.Time   `json:"at"`
}

// Version counts the instances of one version.
type Version struct {
	Image     string `json:"image"`
	Instances int    `json:"instances"`
}

// ServiceInstance is one running copy of a service: on Kubernetes a pod.
type ServiceInstance struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace"`
	IP        string    `json:"ip,omitempty"`
	Version   string    `json:"version,omitempty" doc:"The image of the artifact that it runs"`
	Images    []string  `json:"images" nullable:"false" doc:"Of all of its containers"`
	Color     string    `json:"color,omitempty"`
	Canary    bool      `json:"canary,omitempty"`
	Phase     string    `json:"phase,omitempty"`
	Ready     bool      `json:"ready" doc:"One that isn't ready is an instance all the same"`
	Since     time.Time `json:"since,omitzero" doc:"When it was made"`
	// DeployedBy is AUTO_SCALED where no deployment made it
	// (semantics/entities §14).
	DeployedBy string            `json:"deployedBy,omitempty" doc:"Who started the deployment; AUTO_SCALED if it was made since, outside of any"`
	Properties map[string]string `json:"properties,omitempty" doc:"What is known of it besides, such as the attributes that a deployment template names"`
}

// PlacementList is a part of a list of placements.
type PlacementList struct {
	Placements    []Placement `json:"placements" nullable:"false"`
	NextPageToken string      `json:"nextPageToken,omitempty"`
}

// Moment is a change of what runs of a service in a place.
type Moment struct {
	At             time.Time `json:"at"`
	Environment    string    `json:"environment"`
	Infrastructure string    `json:"infrastructure,omitempty"`
	Target         string    `json:"target" doc:"Where, e.g. kubernetes:guestbook/release-1a2b3c"`
	Cause          string    `json:"cause" doc:"What a deployment did, or observed"`
	Execution      string    `json:"execution,omitempty"`
	Artifact       string    `json:"artifact,omitempty" doc:"What was deployed last"`
	Count          int       `json:"count"`
	Versions       []Version `json:"versions" nullable:"false"`
}

// History is a part of a service's history.
type History struct {
	Moments       []Moment `json:"moments" nullable:"false"`
	NextPageToken string   `json:"nextPageToken,omitempty"`
}

func (s *Server) instances() {
	tags := []string{"Instances"}
	handle(s, action.ServiceView, huma.Operation{
		OperationID: "listInstances", Method: http.MethodGet, Path: "/v1/instances", Tags: tags,
		Summary: "List what runs where, by service, environment and infrastructure",
	}, s.listInstances)
	handle(s, action.ServiceView, huma.Operation{
		OperationID: "listServiceInstances", Method: http.MethodGet, Path: "/v1/services/{service}/instances", Tags: tags,
		Summary: "List where a service runs, and which instances it has there",
	}, s.listServiceInstances)
	handle(s, action.ServiceView, huma.Operation{
		OperationID: "listServiceHistory", Method: http.MethodGet, Path: "/v1/services/{service}/instances/history", Tags: tags,
		Summary: "List how a service's instances changed in the last 30 days, newest first",
	}, s.listServiceHistory)
}

// OfService names a service in the path.
type OfService struct {
	Scoped
	Service string `path:"service" maxLength:"128" doc:"As stages in the project name it, e.g. web or account.web"`
}

func (in OfService) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.Service}, err
}

// known gives the scope of the request if the service exists.
func (in OfService) known(ctx context.Context, s *Server) (ref.Scope, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return ref.Scope{}, err
	}
	return scope, s.saved.exists(ctx, scope, ref.Service, in.Service)
}

func (s *Server) listInstances(ctx context.Context, in *struct {
	Scoped
	Paged
	Service     string `query:"service" maxLength:"128" doc:"Only of this service, as its stages name it"`
	Environment string `query:"environment" maxLength:"128" doc:"Only in this environment, as stages name it"`
}) (*struct{ Body PlacementList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	return s.placements(ctx, scope, in.Service, in.Environment, in.page())
}

func (s *Server) listServiceInstances(ctx context.Context, in *struct {
	OfService
	Paged
	Environment string `query:"environment" maxLength:"128" doc:"Only in this environment, as stages name it"`
}) (*struct{ Body PlacementList }, error) {
	scope, err := in.known(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.placements(ctx, scope, in.Service, in.Environment, in.page())
}

func (s *Server) placements(ctx context.Context, scope ref.Scope, service, environment string, page store.Page) (*struct{ Body PlacementList }, error) {
	found, next, err := s.Store.ListPlacements(ctx, scope, service, environment, page)
	if err != nil {
		return nil, err
	}
	out := PlacementList{Placements: []Placement{}, NextPageToken: next}
	var connected map[string]bool
	if len(found) > 0 {
		if connected, err = s.Ledger.Connected(ctx, scope.Account); err != nil {
			return nil, err
		}
	}
	for _, p := range found {
		if ledger.Live(p, s.Now()) {
			out.Placements = append(out.Placements, placementOf(p, connected[p.Watcher]))
		}
	}
	if len(found) == 0 && scope.Project != "" {
		if err := s.saved.exists(ctx, scope, ref.Service, service); err != nil {
			return nil, err
		}
		if err := s.saved.exists(ctx, scope, ref.Environment, environment); err != nil {
			return nil, err
		}
	}
	return &struct{ Body PlacementList }{out}, nil
}

func placementOf(p store.Placement, watched bool) Placement {
	d := p.Deployed
	out := Placement{
		Org: p.Key.Scope.Org, Project: p.Key.Scope.Project, Service: p.Key.Service, Environment: p.Key.Environment, Infrastructure: p.Key.Infrastructure,
		Namespace: d.Namespace, Release: d.Release, Revision: d.Revision, Artifact: d.Artifact, Count: len(p.Seen.Instances),
		Deployed: Deployed{Action: d.Action, Pipeline: d.Pipeline, Execution: d.Execution, Stage: d.Stage, Step: d.Node, Actor: d.Actor, At: d.At},
		Versions: versionsOf(ledger.Versions(p)), Instances: make([]ServiceInstance, len(p.Seen.Instances)),
		Watched: watched && p.Seen.Trouble == "", SeenAt: p.Seen.At, Trouble: p.Seen.Trouble, Drift: ledger.Drift(p),
	}
	for i, one := range p.Seen.Instances {
		out.Instances[i] = instanceOf(one, d)
	}
	return out
}

func instanceOf(i task.Instance, d store.Deployed) ServiceInstance {
	by := d.Actor
	if i.Since.After(d.At) {
		by = "AUTO_SCALED"
	}
	return ServiceInstance{
		Name: i.Name, Namespace: i.Namespace, IP: i.IP, Version: ledger.Version(i, d.Artifact), Images: list(i.Images), Color: i.Color, Canary: i.Canary,
		Phase: i.Phase, Ready: i.Ready, Since: i.Since, DeployedBy: by, Properties: i.Properties,
	}
}

func versionsOf(counts map[string]int) []Version {
	out := make([]Version, 0, len(counts))
	for image, n := range counts {
		out = append(out, Version{Image: image, Instances: n})
	}
	slices.SortFunc(out, func(a, b Version) int { return strings.Compare(a.Image, b.Image) })
	return out
}

func (s *Server) listServiceHistory(ctx context.Context, in *struct {
	OfService
	Paged
	Environment string `query:"environment" maxLength:"128" doc:"Only in this environment; a part of the list may then be shorter than asked for"`
}) (*struct{ Body History }, error) {
	scope, err := in.known(ctx, s)
	if err != nil {
		return nil, err
	}
	found, next, err := s.Store.ListMoments(ctx, scope, in.Service, s.Now().Add(-store.MomentsKept), in.page())
	if err != nil {
		return nil, err
	}
	out := History{Moments: []Moment{}, NextPageToken: next}
	for _, m := range found {
		if in.Environment == "" || in.Environment == m.Key.Environment {
			out.Moments = append(out.Moments, momentOf(m))
		}
	}
	return &struct{ Body History }{out}, nil
}

func momentOf(m store.Moment) Moment {
	return Moment{
		At: m.At, Environment: m.Key.Environment, Infrastructure: m.Key.Infrastructure, Target: m.Key.Target, Cause: m.Cause,
		Execution: m.Execution, Artifact: m.Artifact, Count: m.Instances, Versions: versionsOf(m.Versions),
	}
}
