package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Delegate is one agent, as people see it.
type Delegate struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Host      string      `json:"host,omitempty"`
	Org       string      `json:"org,omitempty"`
	Project   string      `json:"project,omitempty"`
	Tags      []string    `json:"tags" nullable:"false"`
	Version   string      `json:"version,omitempty"`
	Kinds     []task.Kind `json:"kinds" nullable:"false" doc:"The kinds of task that it can run"`
	Capacity  int         `json:"capacity"`
	Running   int         `json:"running"`
	Draining  bool        `json:"draining,omitempty" doc:"It stops, and takes no more tasks"`
	Connected bool        `json:"connected" doc:"It was heard of lately"`
	LastSeen  time.Time   `json:"lastSeen"`
	StartedAt time.Time   `json:"startedAt"`
	Tools     []string    `json:"tools,omitempty" doc:"Programs on its machine that steps run, each as name=version, and what the machine is, as os=linux and arch=amd64"`
}

// DelegateList is a part of the list of delegates.
type DelegateList struct {
	Delegates     []Delegate `json:"delegates" nullable:"false"`
	NextPageToken string     `json:"nextPageToken,omitempty"`
}

// forgotten is how long a silent delegate stays in the list.
const forgotten = 24 * time.Hour

func (s *Server) delegates() {
	handle(s, action.DelegateView, huma.Operation{
		OperationID: "listDelegates", Method: http.MethodGet, Path: "/v1/delegates", Tags: []string{"Delegates"},
		Summary: "List the delegates that may work for a scope, or within it",
	}, s.listDelegates)
}

func (s *Server) listDelegates(ctx context.Context, in *struct {
	Scoped
	Paged
}) (*struct{ Body DelegateList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.Store.ListDelegates(ctx, scope.Account, s.Now().Add(-forgotten))
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d store.Delegate) bool { return !d.Scope.Covers(scope) && !scope.Covers(d.Scope) })
	part, next, err := paginate(all, func(d store.Delegate) string { return d.Name + " " + d.ID }, in.Paged)
	if err != nil {
		return nil, err
	}
	out := DelegateList{Delegates: make([]Delegate, len(part)), NextPageToken: next}
	for i, d := range part {
		out.Delegates[i] = s.delegateOf(d)
	}
	return &struct{ Body DelegateList }{out}, nil
}

func (s *Server) delegateOf(d store.Delegate) Delegate {
	return Delegate{
		ID: d.ID, Name: d.Name, Host: d.Host, Org: d.Scope.Org, Project: d.Scope.Project,
		Tags: list(d.Tags), Version: d.Version, Kinds: list(d.Kinds),
		Capacity: d.Capacity, Running: d.Running, Draining: d.Draining,
		Connected: dispatch.Connected(d, s.Now()), LastSeen: d.LastSeen, StartedAt: d.StartedAt, Tools: d.Tools,
	}
}
