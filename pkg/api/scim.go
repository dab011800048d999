package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/scim"
	"github.com/slipway-cd/slipway/pkg/scim/people"
	"github.com/slipway-cd/slipway/pkg/store"
)

// scimPaths is where directories read and write users and groups. Harness has the
// same below scimAlias.
const (
	scimPaths = "/scim/v2/"
	scimAlias = "/gateway/ng/api/scim/account/"
)

// aliased serves what is asked for by Harness's path of SCIM.
func aliased(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, scimAlias); ok {
			url := *r.URL
			url.Path, url.RawPath = scimPaths+rest, ""
			if raw, ok := strings.CutPrefix(r.URL.RawPath, scimAlias); ok {
				url.RawPath = scimPaths + raw
			}
			r = r.WithContext(r.Context())
			r.URL = &url
		}
		next.ServeHTTP(w, r)
	})
}

// ofSCIM says whether a path is of SCIM.
func ofSCIM(path string) bool { return strings.HasPrefix(path, scimPaths) }

// directories serves SCIM.
type directories struct{ People *people.People }

// The largest bodies, in bytes: a group comes with all of its members.
const (
	maxSCIMUser  = 64 << 10
	maxSCIMGroup = 5 << 20
)

// inDirectory is what a request about an account's users or groups is about.
func inDirectory(ctx context.Context, in scim.Place, kind ref.Kind, id string) (right.Resource, error) {
	t, account := caller(ctx), ref.Scope{Account: in.Account}
	if t.Scope.Account != in.Account {
		return right.Resource{}, fault.New(fault.Forbidden, "the token %q is for another account", t.Name)
	}
	return right.Resource{Type: action.TypeOf(kind), Scope: account, ID: id}, access.Check(t, account)
}

// base is the path of an account's users and groups.
func base(in scim.Place) string { return scimPaths + in.Account }

// scimBody is an object of SCIM.
type scimBody map[string]any

// ContentType is that of SCIM, whatever the caller accepts (huma.ContentTypeFilter).
func (scimBody) ContentType(string) string { return scim.MediaType }

// scimAnswer is a resource.
type scimAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     scimBody
}

func answered(status int, o scim.Object) *scimAnswer {
	meta, _ := o["meta"].(map[string]any)
	location, _ := meta["location"].(string)
	return &scimAnswer{Status: status, Location: location, Body: scimBody(o)}
}

// part is that of a list that is asked for, with where it begins.
func part[T any](in scim.Search, all []T) ([]T, int) {
	from := max(in.Start, 1)
	list := all[min(from-1, len(all)):]
	return list[:min(max(in.Count, 0), scim.MostFound, len(list))], from
}

// mostMembers is how many members the groups of an answer have together, unless there is
// but one. What is behind them is asked for by another startIndex.
const mostMembers = 10_000

func asking(ctx context.Context) people.Asker {
	return people.Asker{By: asker(ctx), Author: author(ctx)}
}

// provisioned keeps the documents of users and groups as a directory says.
type provisioned struct{ *catalog.Catalog }

func (c provisioned) save(ctx context.Context, d people.Document, by audit.Author) error {
	_, err := c.Save(ctx, catalog.Draft{
		Scope: d.Scope, YAML: d.Text, Version: d.Version, By: d.By, Directory: d.By != nil, AsOf: d.AsOf,
	}, by)
	return err
}

func (c provisioned) remove(ctx context.Context, key store.EntityKey, who grants.Caller, by audit.Author) error {
	return c.Delete(ctx, key, catalog.AnyVersion, by, catalog.Deleter{By: &who, Directory: true})
}

// deleter is who deletes a document.
func deleter(ctx context.Context) catalog.Deleter {
	who := asker(ctx)
	return catalog.Deleter{By: &who}
}

func scimEndpoints(server *Server) {
	s := &directories{People: people.New(server.Store.Entities, provisioned{server.Catalog}.save, provisioned{server.Catalog}.remove)}
	op := func(id, method, path, summary string, limit int64) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: scimPaths + "{account}" + path, Tags: []string{"SCIM"}, Summary: summary, MaxBodyBytes: limit,
		}
	}
	handle(server, action.EntityView, op("listScimUsers", http.MethodGet, "/Users", "Find users whom a directory manages", 0), inTurn(server, s.findUsers))
	handle(server, action.EntityCreate, op("createScimUser", http.MethodPost, "/Users", "Make a user", maxSCIMUser), inTurn(server, s.makeUser))
	handle(server, action.EntityView, op("getScimUser", http.MethodGet, "/Users/{id}", "Read a user", 0), inTurn(server, s.readUser))
	handle(server, action.EntitySave, op("putScimUser", http.MethodPut, "/Users/{id}", "Say all of a user", maxSCIMUser), inTurn(server, s.putUser))
	handle(server, action.EntitySave, op("patchScimUser", http.MethodPatch, "/Users/{id}", "Change a user", maxSCIMUser), inTurn(server, s.patchUser))
	handle(server, action.EntityDelete, op("deleteScimUser", http.MethodDelete, "/Users/{id}", "End a user", 0), inTurn(server, s.endUser))

	handle(server, action.EntityView, op("listScimGroups", http.MethodGet, "/Groups", "Find groups that a directory manages", 0), inTurn(server, s.findGroups))
	handle(server, action.EntityCreate, op("createScimGroup", http.MethodPost, "/Groups", "Make a group", maxSCIMGroup), inTurn(server, s.makeGroup))
	handle(server, action.EntityView, op("getScimGroup", http.MethodGet, "/Groups/{id}", "Read a group", 0), inTurn(server, s.readGroup))
	handle(server, action.EntitySave, op("putScimGroup", http.MethodPut, "/Groups/{id}", "Say all of a group", maxSCIMGroup), inTurn(server, s.putGroup))
	handle(server, action.EntitySave, op("patchScimGroup", http.MethodPatch, "/Groups/{id}", "Change a group", maxSCIMGroup), inTurn(server, s.patchGroup))
	handle(server, action.EntityDelete, op("deleteScimGroup", http.MethodDelete, "/Groups/{id}", "End a group", 0), inTurn(server, s.endGroup))

	handle(server, action.EntityView, op("getScimConfig", http.MethodGet, "/ServiceProviderConfig", "Say what of SCIM there is", 0), s.config)
	handle(server, action.EntityView, op("listScimResourceTypes", http.MethodGet, "/ResourceTypes", "Say what is provisioned", 0), s.resourceTypes)
	handle(server, action.EntityView, op("getScimResourceType", http.MethodGet, "/ResourceTypes/{id}", "Say what a sort of resource is", 0), s.resourceType)
	handle(server, action.EntityView, op("listScimSchemas", http.MethodGet, "/Schemas", "Say what users and groups have", 0), s.listSchemas)
	handle(server, action.EntityView, op("getScimSchema", http.MethodGet, "/Schemas/{id}", "Say what one of them has", 0), s.readSchema)
}

// The requests, which say what they are about.
type (
	searchesUsers struct {
		scim.Place
		scim.Search
		scim.Fields
	}
	makesUser struct {
		scim.Place
		RawBody []byte `contentType:"application/scim+json"`
	}
	ofUser struct {
		scim.One
		scim.Fields
	}
	changesUser struct {
		scim.One
		RawBody []byte `contentType:"application/scim+json"`
	}
	searchesGroups struct {
		scim.Place
		scim.Search
		scim.Fields
	}
	makesGroup struct {
		scim.Place
		RawBody []byte `contentType:"application/scim+json"`
	}
	ofGroup struct {
		scim.One
		scim.Fields
	}
	changesGroup struct {
		scim.One
		RawBody []byte `contentType:"application/scim+json"`
	}
	// learns asks what of SCIM there is.
	learns    struct{ scim.Place }
	learnsOne struct{ scim.One }
)

func (in *searchesUsers) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.User, "")
}

func (in *makesUser) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.User, "")
}

func (in *ofUser) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.User, in.ID)
}

func (in *changesUser) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.User, in.ID)
}

func (in *searchesGroups) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.UserGroup, "")
}

func (in *makesGroup) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.UserGroup, "")
}

func (in *ofGroup) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.UserGroup, in.ID)
}

func (in *changesGroup) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.UserGroup, in.ID)
}

func (in *learns) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.User, "")
}

func (in *learnsOne) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return inDirectory(ctx, in.Place, ref.User, "")
}

func (s *directories) config(_ context.Context, in *learns) (*scimAnswer, error) {
	return answered(http.StatusOK, scim.Config(base(in.Place))), nil
}

func (s *directories) resourceTypes(_ context.Context, in *learns) (*scimAnswer, error) {
	return listed(scim.ResourceTypes(base(in.Place))), nil
}

func (s *directories) resourceType(_ context.Context, in *learnsOne) (*scimAnswer, error) {
	return named(scim.ResourceTypes(base(in.Place)), in.ID)
}

func (s *directories) listSchemas(_ context.Context, in *learns) (*scimAnswer, error) {
	return listed(scim.Schemas(base(in.Place))), nil
}

func (s *directories) readSchema(_ context.Context, in *learnsOne) (*scimAnswer, error) {
	return named(scim.Schemas(base(in.Place)), in.ID)
}

func listed(all []scim.Object) *scimAnswer {
	return answered(http.StatusOK, scim.List(all, len(all), 1))
}

func named(all []scim.Object, id string) (*scimAnswer, error) {
	o, ok := scim.Named(all, id)
	if !ok {
		return nil, notFound("SCIM here has no %q", id)
	}
	return answered(http.StatusOK, o), nil
}

func (s *directories) findUsers(ctx context.Context, in *searchesUsers) (*scimAnswer, error) {
	f, err := scim.ParseFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	all, err := s.People.Users(ctx, ref.Scope{Account: in.Account}, f, base(in.Place))
	if err != nil {
		return nil, err
	}
	some, from := part(in.Search, all)
	out := make([]scim.Object, len(some))
	for i, u := range some {
		out[i] = in.Only(u.Object(base(in.Place)))
	}
	return answered(http.StatusOK, scim.List(out, len(all), from)), nil
}

func (s *directories) readUser(ctx context.Context, in *ofUser) (*scimAnswer, error) {
	u, err := s.People.User(ctx, ref.Scope{Account: in.Account}, in.ID)
	return answered(http.StatusOK, in.Only(u.Object(base(in.Place)))), err
}

func (s *directories) makeUser(ctx context.Context, in *makesUser) (*scimAnswer, error) {
	u, err := userIn(in.RawBody)
	if err == nil {
		u, err = s.People.CreateUser(ctx, asking(ctx), u)
	}
	return answered(http.StatusCreated, u.Object(base(in.Place))), err
}

func userIn(body []byte) (scim.User, error) {
	o, err := scim.Parse(body)
	if err != nil {
		return scim.User{}, err
	}
	return scim.UserOf(o)
}

func (s *directories) putUser(ctx context.Context, in *changesUser) (*scimAnswer, error) {
	o, err := scim.Parse(in.RawBody)
	if err != nil {
		return nil, err
	}
	u, err := s.People.ChangeUser(ctx, asking(ctx), in.ID, func(was scim.User) (scim.User, error) { return was.Replaced(o) })
	return answered(http.StatusOK, u.Object(base(in.Place))), err
}

func (s *directories) patchUser(ctx context.Context, in *changesUser) (*scimAnswer, error) {
	patch, err := scim.ParsePatch(in.RawBody)
	if err != nil {
		return nil, err
	}
	u, err := s.People.ChangeUser(ctx, asking(ctx), in.ID, func(was scim.User) (scim.User, error) { return was.Patched(patch, base(in.Place)) })
	return answered(http.StatusOK, u.Object(base(in.Place))), err
}

func (s *directories) endUser(ctx context.Context, in *ofUser) (*nothing, error) {
	return nil, s.People.RemoveUser(ctx, asking(ctx), in.ID)
}

func (s *directories) findGroups(ctx context.Context, in *searchesGroups) (*scimAnswer, error) {
	f, err := scim.ParseFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	all, err := s.People.Groups(ctx, ref.Scope{Account: in.Account}, f, base(in.Place))
	if err != nil {
		return nil, err
	}
	some, from := part(in.Search, all)
	var out []scim.Object
	members := 0
	for _, g := range some {
		o := in.Only(g.Object(base(in.Place)))
		if _, told := o["members"]; told {
			members += len(g.Members)
		}
		if len(out) > 0 && members > mostMembers {
			break
		}
		out = append(out, o)
	}
	return answered(http.StatusOK, scim.List(out, len(all), from)), nil
}

func (s *directories) readGroup(ctx context.Context, in *ofGroup) (*scimAnswer, error) {
	g, err := s.People.Group(ctx, ref.Scope{Account: in.Account}, in.ID)
	return answered(http.StatusOK, in.Only(g.Object(base(in.Place)))), err
}

func (s *directories) makeGroup(ctx context.Context, in *makesGroup) (*scimAnswer, error) {
	g, err := groupIn(in.RawBody)
	if err == nil {
		g, err = s.People.CreateGroup(ctx, asking(ctx), g)
	}
	return answered(http.StatusCreated, g.Object(base(in.Place))), err
}

func groupIn(body []byte) (scim.Group, error) {
	o, err := scim.Parse(body)
	if err != nil {
		return scim.Group{}, err
	}
	return scim.GroupOf(o)
}

func (s *directories) putGroup(ctx context.Context, in *changesGroup) (*scimAnswer, error) {
	g, err := groupIn(in.RawBody)
	if err == nil {
		g, err = s.People.ChangeGroup(ctx, asking(ctx), in.ID, func(scim.Group) (scim.Group, error) { return g, nil })
	}
	return answered(http.StatusOK, g.Object(base(in.Place))), err
}

// patchGroup answers nothing: the group may have thousands of members.
func (s *directories) patchGroup(ctx context.Context, in *changesGroup) (*nothing, error) {
	patch, err := scim.ParsePatch(in.RawBody)
	if err == nil {
		_, err = s.People.ChangeGroup(ctx, asking(ctx), in.ID, func(was scim.Group) (scim.Group, error) { return was.Patched(patch, base(in.Place)) })
	}
	return nil, err
}

func (s *directories) endGroup(ctx context.Context, in *ofGroup) (*nothing, error) {
	return nil, s.People.RemoveGroup(ctx, asking(ctx), in.ID)
}

// scimProblem is the body of every answer of SCIM that isn't a success.
type scimProblem struct {
	Schemas  []string `json:"schemas"`
	Status   string   `json:"status"`
	ScimType string   `json:"scimType,omitempty" doc:"What is wrong, as RFC 7644 has it"`
	Detail   string   `json:"detail" doc:"A sentence for people"`

	of *Problem
}

// asSCIM tells of a problem as directories understand it; err is what it came
// from.
func asSCIM(p *Problem, err error) *scimProblem {
	out := &scimProblem{Schemas: []string{scim.ErrorSchema}, Status: strconv.Itoa(p.GetStatus()), ScimType: string(scim.ProblemOf(err)), Detail: p.Message, of: p}
	if out.ScimType == "" && err != nil && p.Code == fault.Invalid { // of the document that would be saved
		out.ScimType = string(scim.InvalidValue)
	}
	for _, d := range p.Details {
		if !strings.Contains(out.Detail, d.Message) {
			out.Detail += "; " + d.Message
		}
	}
	return out
}

// Error is the message (error).
func (p *scimProblem) Error() string { return p.Detail }

// GetStatus is the HTTP status of the problem's code (huma.StatusError).
func (p *scimProblem) GetStatus() int { return p.of.GetStatus() }

// ContentType is that of SCIM, whatever the caller accepts (huma.ContentTypeFilter).
func (p *scimProblem) ContentType(string) string { return scim.MediaType }

// GetHeaders tells when to try again what may go then (huma.HeadersError).
func (p *scimProblem) GetHeaders() http.Header { return p.of.GetHeaders() }
