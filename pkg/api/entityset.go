package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The bounds of a set of documents that are saved together. A function takes
// 6 MB with what they are wrapped in.
const (
	MaxSet      = 1000
	MaxSetBytes = 4 << 20
)

// DocumentSet is a set of documents that are checked and saved together.
type DocumentSet struct {
	Documents []SetDocument `json:"documents" minItems:"1" maxItems:"1000" nullable:"false"`
	Strict    bool          `json:"strict,omitempty" doc:"Make a key that nobody documents an error"`
	DryRun    bool          `json:"dryRun,omitempty" doc:"Say what would be done, and change nothing"`
}

// SetDocument is one document of a set.
type SetDocument struct {
	Org     string `json:"org,omitempty" maxLength:"128" doc:"Where it goes as far as it doesn't say; none means the account's own"`
	Project string `json:"project,omitempty" maxLength:"128"`
	File    string `json:"file,omitempty" maxLength:"1024" doc:"Its file's name, for findings"`
	Before  int    `json:"before,omitempty" minimum:"0" doc:"Lines of the file above it, for findings"`
	Agent   string `json:"agent,omitempty" maxLength:"160" doc:"The GitOps agent that a document of Argo CD is for, as a reference"`
	YAML    string `json:"yaml"`
}

// SavedSet says what saving a set did, or would do.
type SavedSet struct {
	Entities []SavedEntity `json:"entities" nullable:"false" doc:"In the order of saving: what is named before what names it"`
}

func (s *Server) entitySets() {
	handle(s, action.EntitySave, huma.Operation{
		OperationID: "applyEntities", Method: http.MethodPost, Path: "/v1/entities:apply", Tags: []string{"Entities"},
		MaxBodyBytes: MaxSetBytes + 1, // the framework compares with >=
		Summary:      "Create or update the entities of a set of documents, which are checked together; nothing is saved if one of them is wrong",
	}, inTurn(s, s.saved.applyEntities))
}

// appliesSet is a request to save a set.
type appliesSet struct {
	Body DocumentSet
}

// about is the token's scope: each document says where it goes.
func (*appliesSet) about(ctx context.Context, _ *Server) (right.Resource, error) { //nolint:unparam // other requests can be about nothing
	return right.Resource{Scope: caller(ctx).Scope}, nil
}

func (s *documents) applyEntities(ctx context.Context, in *appliesSet) (*struct{ Body SavedSet }, error) {
	set := make([]catalog.Draft, len(in.Body.Documents))
	who := asker(ctx)
	for i, d := range in.Body.Documents {
		scope, err := Scoped{Org: d.Org, Project: d.Project}.scope(ctx)
		if err != nil {
			return nil, fault.Wrap(err, "%s:%d", d.File, d.Before+1)
		}
		set[i] = catalog.Draft{
			By: &who, File: d.File, Before: d.Before, Scope: scope, YAML: []byte(d.YAML), Strict: in.Body.Strict,
			Version: catalog.AnyVersion, Within: caller(ctx).Scope, Agent: d.Agent,
		}
	}
	var results []catalog.Result
	var err error
	if in.Body.DryRun {
		results, err = s.Catalog.CheckAll(ctx, set)
	} else {
		results, err = s.Catalog.SaveAll(ctx, set, author(ctx))
	}
	if err != nil {
		return nil, err
	}
	out := SavedSet{Entities: make([]SavedEntity, len(results))}
	for i, r := range results {
		out.Entities[i] = savedEntity(r)
	}
	return &struct{ Body SavedSet }{out}, nil
}
