package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Provisioner is what steps of a project make by one identifier, with what was
// done last.
type Provisioner struct {
	Kind       task.Kind           `json:"kind" doc:"The tool, e.g. cloudformation"`
	Identifier string              `json:"identifier"`
	Workspace  string              `json:"workspace,omitempty" doc:"Of tools that have such"`
	Org        string              `json:"org,omitempty"`
	Project    string              `json:"project,omitempty"`
	Place      json.RawMessage     `json:"place,omitempty" doc:"Where it is made, e.g. the connector, the region and the stack"`
	Last       execution.Provision `json:"last"`
}

// ProvisionerHistory is a provisioner with what is kept of it.
type ProvisionerHistory struct {
	Provisioner
	History []execution.Provision `json:"history" nullable:"false" doc:"What executions have done, the newest first"`
}

// ProvisionerList is a part of the list of provisioners.
type ProvisionerList struct {
	Provisioners  []Provisioner `json:"provisioners" nullable:"false"`
	NextPageToken string        `json:"nextPageToken,omitempty"`
}

func provisioners(s *Server) {
	tags := []string{"Provisioners"}
	const one = "/v1/provisioners/{kind}/{identifier}"
	handle(s, action.ProvisionerView, huma.Operation{
		OperationID: "listProvisioners", Method: http.MethodGet, Path: "/v1/provisioners", Tags: tags, Summary: "List what steps of a project have made by provisioners",
	}, s.steering.listProvisioners)
	handle(s, action.ProvisionerView, huma.Operation{
		OperationID: "getProvisioner", Method: http.MethodGet, Path: one, Tags: tags, Summary: "Tell what executions have done by a provisioner",
	}, s.steering.getProvisioner)
	handle(s, action.ProvisionerForget, huma.Operation{
		OperationID: "forgetProvisioner", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Forget what executions have done by a provisioner; what they have made stays",
	}, s.steering.forgetProvisioner)
}

func provisionerOf(k store.ProvisionerKey, place json.RawMessage, last execution.Provision) Provisioner {
	return Provisioner{Kind: k.Kind, Identifier: k.Identifier, Workspace: k.Workspace, Org: k.Scope.Org, Project: k.Scope.Project, Place: place, Last: last}
}

func (s *steering) listProvisioners(ctx context.Context, in *struct {
	Scoped
	Paged
}) (*struct{ Body ProvisionerList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	found, next, err := s.Store.ListProvisioners(ctx, scope, in.page())
	if err != nil {
		return nil, err
	}
	out := ProvisionerList{Provisioners: make([]Provisioner, len(found)), NextPageToken: next}
	for i, p := range found {
		out.Provisioners[i] = provisionerOf(p.Key, p.Place, execution.ProvisionOf(p))
	}
	return &struct{ Body ProvisionerList }{out}, nil
}

// ofProvisioner names a provisioner.
type ofProvisioner struct {
	Scoped
	Kind       task.Kind `path:"kind" maxLength:"128" doc:"The tool, e.g. cloudformation"`
	Identifier string    `path:"identifier" maxLength:"128" doc:"The provisionerIdentifier of the steps"`
	Workspace  string    `query:"workspace" maxLength:"128"`
}

func (in ofProvisioner) key(ctx context.Context) (store.ProvisionerKey, error) {
	scope, err := in.scope(ctx)
	return store.ProvisionerKey{Scope: scope, Kind: in.Kind, Identifier: in.Identifier, Workspace: in.Workspace}, err
}

func (s *steering) getProvisioner(ctx context.Context, in *ofProvisioner) (*struct{ Body ProvisionerHistory }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	history, place, err := s.Executions.Provisioner(ctx, key)
	if err != nil {
		return nil, err
	}
	return &struct{ Body ProvisionerHistory }{ProvisionerHistory{Provisioner: provisionerOf(key, place, history[0]), History: history}}, nil
}

func (s *steering) forgetProvisioner(ctx context.Context, in *ofProvisioner) (*nothing, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Executions.ForgetProvisioner(ctx, key, author(ctx))
}
