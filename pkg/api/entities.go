package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// EntityKey says where an entity is.
type EntityKey struct {
	Kind    ref.Kind `json:"kind"`
	ID      string   `json:"id"`
	Org     string   `json:"org,omitempty"`
	Project string   `json:"project,omitempty"`
	Env     string   `json:"env,omitempty" doc:"An infrastructure definition's environment; a trigger's or an input set's pipeline; the GitOps agent of what one keeps"`
}

// Entity is a saved document.
type Entity struct {
	EntityKey
	Name      string    `json:"name"`
	Version   int64     `json:"version" doc:"1 for the first save"`
	Stable    bool      `json:"stable,omitempty" doc:"Of a template's version: links without a versionLabel mean it"`
	YAML      string    `json:"yaml,omitempty" doc:"As it was saved; a secret's without its value. Lists have it if they are asked to"`
	UpdatedBy string    `json:"updatedBy"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// SavedEntity says what a save did, or would do.
type SavedEntity struct {
	EntityKey
	Version  int64          `json:"version"`
	Change   catalog.Change `json:"change" enum:"created,configured,unchanged"`
	Warnings []fault.Detail `json:"warnings" nullable:"false"`
}

// EntityList is a part of the list of entities of a kind.
type EntityList struct {
	Entities      []Entity `json:"entities" nullable:"false"`
	NextPageToken string   `json:"nextPageToken,omitempty"`
}

func keyOf(k store.EntityKey) EntityKey {
	return EntityKey{Kind: k.Kind, ID: k.ID, Org: k.Scope.Org, Project: k.Scope.Project, Env: k.Env}
}

func entityOf(e store.Entity) Entity {
	return Entity{
		EntityKey: keyOf(e.Key), Name: e.Name, Version: e.Version, YAML: string(e.YAML),
		UpdatedBy: e.UpdatedBy, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}

func (s *Server) entities() {
	tags := []string{"Entities"}
	// The framework compares with >=, so a document of exactly the limit needs one more.
	const limit = yamldoc.MaxBytes + 1
	handle(s, action.EntitySave, huma.Operation{
		OperationID: "saveEntity", Method: http.MethodPut, Path: "/v1/entities", Tags: tags, MaxBodyBytes: limit,
		Summary: "Create or update the entity of a document",
	}, inTurn(s, s.saved.saveEntity))
	handle(s, action.EntityView, huma.Operation{
		OperationID: "validateEntity", Method: http.MethodPost, Path: "/v1/entities:validate", Tags: tags, MaxBodyBytes: limit,
		Summary: "Say what saving a document would do, and what is wrong with it",
	}, inTurn(s, s.saved.validateEntity))
	handle(s, action.EntityView, huma.Operation{
		OperationID: "listEntities", Method: http.MethodGet, Path: "/v1/entities/{kind}", Tags: tags, Summary: "List entities of a kind",
	}, s.saved.listEntities)
	handle(s, action.EntityView, huma.Operation{
		OperationID: "getEntity", Method: http.MethodGet, Path: "/v1/entities/{kind}/{id}", Tags: tags,
		Summary: "Get an entity; with Accept: application/yaml, its document as it was saved",
	}, s.saved.getEntity)
	handle(s, action.EntityView, huma.Operation{
		OperationID: "listReferences", Method: http.MethodGet, Path: "/v1/entities/{kind}/{id}/references", Tags: tags,
		Summary: "List what names an entity, as far as the caller may see it; while there is any, it can't be deleted",
	}, s.saved.listReferences)
	handle(s, action.EntityDelete, huma.Operation{
		OperationID: "deleteEntity", Method: http.MethodDelete, Path: "/v1/entities/{kind}/{id}", Tags: tags,
		Summary: "Delete an entity that nothing refers to",
	}, inTurn(s, s.saved.deleteEntity))
}

// Versioned says which version a change was made from.
type Versioned struct {
	Version int64 `query:"version" minimum:"-1" default:"-1" doc:"The version that the change was made from; 0: there must be none; -1: whatever it is"`
}

// Document is a request whose body is a YAML document.
type Document struct {
	Scoped
	Versioned
	File    string `query:"file" maxLength:"1024" doc:"The document's file name, for findings"`
	Strict  bool   `query:"strict" doc:"Make a key that nobody documents an error"`
	Agent   string `query:"agent" maxLength:"160" doc:"The GitOps agent that a document of Argo CD is for, as a reference"`
	RawBody []byte `contentType:"application/yaml"`
}

func (in *Document) draft(ctx context.Context) (catalog.Draft, error) {
	scope, err := in.scope(ctx)
	who := asker(ctx)
	return catalog.Draft{
		By: &who, File: in.File, Scope: scope, YAML: slices.Clone(in.RawBody), Strict: in.Strict, Version: in.Version, Within: caller(ctx).Scope, Agent: in.Agent,
	}, err
}

func author(ctx context.Context) audit.Author {
	return audit.Author{Actor: caller(ctx).Actor, Request: requestID(ctx)}
}

type savedAnswer struct{ Body SavedEntity }

func saved(r catalog.Result, err error) (*savedAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &savedAnswer{savedEntity(r)}, nil
}

func savedEntity(r catalog.Result) SavedEntity {
	return SavedEntity{EntityKey: keyOf(r.Key), Version: r.Version, Change: r.Change, Warnings: list(r.Warnings)}
}

// documents are what people write, what they come to, and their inputs.
type documents struct {
	Store   store.Entities
	Catalog *catalog.Catalog
	Launch  *launch.Launcher
}

func (s *documents) saveEntity(ctx context.Context, in *Document) (*savedAnswer, error) {
	d, err := in.draft(ctx)
	if err != nil {
		return nil, err
	}
	return saved(s.Catalog.Save(ctx, d, author(ctx)))
}

func (s *documents) validateEntity(ctx context.Context, in *Document) (*savedAnswer, error) {
	d, err := in.draft(ctx)
	if err != nil {
		return nil, err
	}
	return saved(s.Catalog.Check(ctx, d))
}

// OfKind names a kind of entity in the path.
type OfKind struct {
	Scoped
	Kind ref.Kind `path:"kind" enum:"organization,project,pipeline,service,environment,infrastructureDefinition,environmentGroup,overrides,serviceOverrides,connector,secret,variable,template,trigger,inputSet,overlayInputSet,userGroup,freeze,policy,policySet,user,serviceAccount,role,resourceGroup,roleAssignment,loginProvider,streamingDestination,ipAllowlist,setting,gitopsAgent,gitopsSettings,gitopsCertificate,gitopsGpgKey,gitopsRepoCredentials,gitopsRepository,gitopsCluster,gitopsProject,gitopsApplicationSet,gitopsApplication"`
	Env  string   `query:"env" maxLength:"160" doc:"An infrastructure definition's environment, or that of overrides, as a reference, e.g. dev or account.dev; a trigger's or an input set's pipeline; the GitOps agent of what one keeps, as a reference"`
}

// about is the kind's documents where the request looks.
func (in OfKind) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, _, err := in.place(ctx)
	return right.Resource{Type: action.TypeOf(in.Kind), Scope: scope}, err
}

// place is the scope and the parent where the request looks.
func (in OfKind) place(ctx context.Context) (ref.Scope, string, error) {
	scope, err := in.scope(ctx)
	if home := ref.Home(in.Kind, scope); err == nil && home != scope {
		return home, "", access.Check(caller(ctx), home)
	}
	if err != nil || in.parent() == "" || in.Env == "" {
		return scope, "", err
	}
	switch in.Kind {
	case ref.Infrastructure, ref.Overrides, ref.ServiceOverrides:
	default:
		if !ref.OfGitOps(in.Kind) {
			return scope, in.Env, nil
		}
	}
	env, err := ref.Parse(in.Env, scope)
	if err != nil {
		return ref.Scope{}, "", invalid("env: %w", err)
	}
	if in.Kind != ref.Infrastructure && !ref.AtAgent(in.Kind) {
		return scope, env.Text(scope), nil // overrides and applications have a scope of their own
	}
	return env.Scope, env.ID, access.Check(caller(ctx), env.Scope)
}

// parent is the kind within which the identifier is unique; empty: the scope.
func (in OfKind) parent() ref.Kind { return ref.Parent(in.Kind) }

// listsEntities is a request for documents of a kind, of which some may be seen.
type listsEntities struct {
	OfKind
	Paged
	Documents bool `query:"documents" doc:"With their documents, as many as an answer has room for: 1 MiB"`
}

// mostDocuments is how many bytes of documents a list has.
const mostDocuments = 1 << 20

// about is a list of some of the kind. That of scopes is anybody's to ask for, who is
// shown those in which there is something to see: one needn't see what they are in.
func (in *listsEntities) about(ctx context.Context, s *Server) (right.Resource, error) {
	if in.Kind == ref.Organization || in.Kind == ref.Project {
		_, _, err := in.place(ctx)
		return right.Resource{}, err
	}
	return someOf(in.OfKind.about(ctx, s))
}

func (s *documents) listEntities(ctx context.Context, in *listsEntities) (*struct{ Body EntityList }, error) {
	scope, env, err := in.place(ctx)
	if err != nil {
		return nil, err
	}
	found, next, err := visible(ctx, in.page(), action.EntityView, func(e store.Entity) right.Resource {
		on := grants.Resource(e.Key)
		if in.parent() == "" {
			on.Attribute = grants.AttributesOf(in.Kind, e.YAML)
		}
		return on
	}, func(page store.Page) ([]store.Entity, string, error) {
		return s.Store.ListEntities(ctx, scope, in.Kind, env, page)
	})
	if err != nil {
		return nil, err
	}
	out := EntityList{Entities: make([]Entity, len(found)), NextPageToken: next}
	room := 0
	if in.Documents {
		room = mostDocuments
	}
	for i, e := range found {
		out.Entities[i] = entityOf(e)
		if room -= len(e.YAML); room < 0 {
			out.Entities[i].YAML = ""
		}
	}
	if in.Kind == ref.Template && len(found) > 0 {
		err = s.markStable(ctx, scope, out.Entities)
	}
	return &struct{ Body EntityList }{out}, err
}

// OfEntity names an entity in the path.
type OfEntity struct {
	OfKind
	ID string `path:"id" maxLength:"257" doc:"A template's has its version, e.g. build@v1; without one it is the stable version"`
}

// about is the document, or what it belongs to: an infrastructure definition to
// its environment, a trigger or an input set to its pipeline.
func (in OfEntity) about(ctx context.Context, _ *Server) (right.Resource, error) {
	key, err := in.key(ctx)
	return grants.Resource(key), err
}

func (in OfEntity) key(ctx context.Context) (store.EntityKey, error) {
	scope, env, err := in.place(ctx)
	if parent := in.parent(); err == nil && parent != "" && env == "" {
		err = invalid("%s %s is named with its %s: add env", in.Kind, in.ID, parent)
	}
	return store.EntityKey{Scope: scope, Kind: in.Kind, Env: env, ID: in.ID}, err
}

func (s *documents) getEntity(ctx context.Context, in *OfEntity) (*struct{ Body Entity }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	if in.Kind == ref.Template {
		return s.getTemplate(ctx, key)
	}
	e, err := s.Store.Entity(ctx, key)
	return &struct{ Body Entity }{entityOf(e)}, err
}

// exists is an error if a list was asked for by the name of something that
// isn't there: an empty list would hide the slip. An empty name is no error.
func (s *documents) exists(ctx context.Context, scope ref.Scope, kind ref.Kind, name string) error {
	if name == "" {
		return nil
	}
	r, err := ref.Parse(name, scope)
	if err != nil {
		return invalid("%s: %w", kind, err)
	}
	_, err = s.Store.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: kind, ID: r.ID})
	return err
}

func (s *documents) deleteEntity(ctx context.Context, in *struct {
	OfEntity
	Versioned
}) (*nothing, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Catalog.Delete(ctx, key, in.Version, author(ctx), deleter(ctx))
}
