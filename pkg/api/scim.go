package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/scim"
	"github.com/slipway-cd/slipway/pkg/scim/people"
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
type directories struct{ people *people.People }

// The largest bodies, in bytes: a group comes with all of its members.
const (
	maxSCIMUser  = 64 << 10
	maxSCIMGroup = 5 << 20
)

// InDirectory is a request about an account's users or groups.
type InDirectory struct {
	Account string `path:"account" maxLength:"128" doc:"The account, which is the token's"`
}

func (in InDirectory) of(ctx context.Context, kind ref.Kind, id string) (right.Resource, error) {
	t, account := caller(ctx), ref.Scope{Account: in.Account}
	if t.Scope.Account != in.Account {
		return right.Resource{}, fault.New(fault.Forbidden, "the token %q is for another account", t.Name)
	}
	return right.Resource{Type: action.TypeOf(kind), Scope: account, ID: id}, access.Check(t, account)
}

func (in InDirectory) scope() ref.Scope { return ref.Scope{Account: in.Account} }
func (in InDirectory) base() string     { return scimPaths + in.Account }

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

// SCIMSearch is what a list is asked for by.
type SCIMSearch struct {
	Filter string `query:"filter" maxLength:"2048" doc:"As RFC 7644 has it, e.g. userName eq \"ada@example.com\""`
	Start  int    `query:"startIndex" default:"1" doc:"The first that is wanted, which counts from 1"`
	Count  int    `query:"count" default:"100" doc:"At most so many; over 200 means 200"`
}

// part is that of a list that is asked for, with where it begins.
func part[T any](in SCIMSearch, all []T) ([]T, int) {
	from := max(in.Start, 1)
	list := all[min(from-1, len(all)):]
	return list[:min(max(in.Count, 0), scim.MostFound, len(list))], from
}

func asking(ctx context.Context) people.Asker {
	return people.Asker{By: asker(ctx), Author: author(ctx)}
}

// deleter is who deletes a document.
func deleter(ctx context.Context) catalog.Deleter {
	who := asker(ctx)
	return catalog.Deleter{By: &who}
}

func scimEndpoints(s *Server) {
	d := &directories{people: &people.People{Store: s.Store.Entities, Catalog: s.Catalog}}
	op := func(id, method, path, summary string, limit int64) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: scimPaths + "{account}" + path, Tags: []string{"SCIM"}, Summary: summary, MaxBodyBytes: limit,
		}
	}
	handle(s, action.EntityView, op("listScimUsers", http.MethodGet, "/Users", "Find users whom a directory manages", 0), d.users)
	handle(s, action.EntityCreate, op("createScimUser", http.MethodPost, "/Users", "Make a user", maxSCIMUser), d.createUser)
	handle(s, action.EntityView, op("getScimUser", http.MethodGet, "/Users/{id}", "Read a user", 0), d.user)
	handle(s, action.EntitySave, op("putScimUser", http.MethodPut, "/Users/{id}", "Say all of a user", maxSCIMUser), d.putUser)
	handle(s, action.EntitySave, op("patchScimUser", http.MethodPatch, "/Users/{id}", "Change a user", maxSCIMUser), d.patchUser)
	handle(s, action.EntityDelete, op("deleteScimUser", http.MethodDelete, "/Users/{id}", "End a user", 0), d.deleteUser)

	handle(s, action.EntityView, op("listScimGroups", http.MethodGet, "/Groups", "Find groups that a directory manages", 0), d.groups)
	handle(s, action.EntityCreate, op("createScimGroup", http.MethodPost, "/Groups", "Make a group", maxSCIMGroup), d.createGroup)
	handle(s, action.EntityView, op("getScimGroup", http.MethodGet, "/Groups/{id}", "Read a group", 0), d.group)
	handle(s, action.EntitySave, op("putScimGroup", http.MethodPut, "/Groups/{id}", "Say all of a group", maxSCIMGroup), d.putGroup)
	handle(s, action.EntitySave, op("patchScimGroup", http.MethodPatch, "/Groups/{id}", "Change a group", maxSCIMGroup), d.patchGroup)
	handle(s, action.EntityDelete, op("deleteScimGroup", http.MethodDelete, "/Groups/{id}", "End a group", 0), d.deleteGroup)

	handle(s, action.EntityView, op("getScimConfig", http.MethodGet, "/ServiceProviderConfig", "Say what of SCIM there is", 0), d.config)
	handle(s, action.EntityView, op("listScimResourceTypes", http.MethodGet, "/ResourceTypes", "Say what is provisioned", 0), d.listed(scim.ResourceTypes))
	handle(s, action.EntityView, op("getScimResourceType", http.MethodGet, "/ResourceTypes/{id}", "Say what a sort of resource is", 0), d.named(scim.ResourceTypes))
	handle(s, action.EntityView, op("listScimSchemas", http.MethodGet, "/Schemas", "Say what users and groups have", 0), d.listed(scim.Schemas))
	handle(s, action.EntityView, op("getScimSchema", http.MethodGet, "/Schemas/{id}", "Say what one of them has", 0), d.named(scim.Schemas))
}

// SCIMFields says which attributes are answered.
type SCIMFields struct {
	Some    string `query:"attributes" maxLength:"2048" doc:"Of the resource only these, separated by commas"`
	Without string `query:"excludedAttributes" maxLength:"2048" doc:"All of the resource but these, e.g. members"`
}

func (in SCIMFields) of(o scim.Object) scim.Object { return scim.Only(o, in.Some, in.Without) }

type (
	// OfSCIMUser names a user.
	OfSCIMUser struct {
		InDirectory
		ID string `path:"id" maxLength:"128" doc:"The user's identifier"`
	}
	// OfSCIMGroup names a group.
	OfSCIMGroup struct {
		InDirectory
		ID string `path:"id" maxLength:"128" doc:"The group's identifier"`
	}
	// OfSCIMWords names what is told of the server.
	OfSCIMWords struct {
		InDirectory
		ID string `path:"id" maxLength:"128"`
	}
	// ManySCIMUsers is about users, none in particular.
	ManySCIMUsers struct{ InDirectory }
	// ManySCIMGroups is about groups, none in particular.
	ManySCIMGroups struct{ InDirectory }
	// SCIMBody is an object that a directory sends.
	SCIMBody struct {
		RawBody []byte `contentType:"application/scim+json"`
	}
)

func (in *OfSCIMUser) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.User, in.ID)
}

func (in *OfSCIMGroup) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.UserGroup, in.ID)
}

func (in *OfSCIMWords) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.User, "")
}

func (in *ManySCIMUsers) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.User, "")
}

func (in *ManySCIMGroups) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.UserGroup, "")
}

func (d *directories) config(_ context.Context, in *ManySCIMUsers) (*scimAnswer, error) {
	return answered(http.StatusOK, scim.Config(in.base())), nil
}

func (d *directories) listed(all func(base string) []scim.Object) func(context.Context, *ManySCIMUsers) (*scimAnswer, error) {
	return func(_ context.Context, in *ManySCIMUsers) (*scimAnswer, error) {
		list := all(in.base())
		return answered(http.StatusOK, scim.List(list, len(list), 1)), nil
	}
}

func (d *directories) named(all func(base string) []scim.Object) func(context.Context, *OfSCIMWords) (*scimAnswer, error) {
	return func(_ context.Context, in *OfSCIMWords) (*scimAnswer, error) {
		o, ok := scim.Named(all(in.base()), in.ID)
		if !ok {
			return nil, notFound("SCIM here has no %q", in.ID)
		}
		return answered(http.StatusOK, o), nil
	}
}

func (d *directories) users(ctx context.Context, in *struct {
	ManySCIMUsers
	SCIMSearch
	SCIMFields
}) (*scimAnswer, error) {
	f, err := scim.ParseFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	all, err := d.people.Users(ctx, in.scope(), f, in.base())
	if err != nil {
		return nil, err
	}
	some, from := part(in.SCIMSearch, all)
	out := make([]scim.Object, len(some))
	for i, u := range some {
		out[i] = in.SCIMFields.of(u.Object(in.base()))
	}
	return answered(http.StatusOK, scim.List(out, len(all), from)), nil
}

func (d *directories) user(ctx context.Context, in *struct {
	OfSCIMUser
	SCIMFields
}) (*scimAnswer, error) {
	u, err := d.people.User(ctx, in.scope(), in.ID)
	return answered(http.StatusOK, in.SCIMFields.of(u.Object(in.base()))), err
}

func (d *directories) createUser(ctx context.Context, in *struct {
	ManySCIMUsers
	SCIMBody
}) (*scimAnswer, error) {
	u, err := userIn(in.RawBody)
	if err == nil {
		u, err = d.people.CreateUser(ctx, asking(ctx), u)
	}
	return answered(http.StatusCreated, u.Object(in.base())), err
}

func userIn(body []byte) (scim.User, error) {
	o, err := scim.Parse(body)
	if err != nil {
		return scim.User{}, err
	}
	return scim.UserOf(o)
}

func (d *directories) putUser(ctx context.Context, in *struct {
	OfSCIMUser
	SCIMBody
}) (*scimAnswer, error) {
	u, err := userIn(in.RawBody)
	if err == nil {
		u, err = d.people.ChangeUser(ctx, asking(ctx), in.ID, func(scim.User) (scim.User, error) { return u, nil })
	}
	return answered(http.StatusOK, u.Object(in.base())), err
}

func (d *directories) patchUser(ctx context.Context, in *struct {
	OfSCIMUser
	SCIMBody
}) (*scimAnswer, error) {
	patch, err := scim.ParsePatch(in.RawBody)
	if err != nil {
		return nil, err
	}
	u, err := d.people.ChangeUser(ctx, asking(ctx), in.ID, func(was scim.User) (scim.User, error) { return was.Patched(patch, in.base()) })
	return answered(http.StatusOK, u.Object(in.base())), err
}

func (d *directories) deleteUser(ctx context.Context, in *OfSCIMUser) (*nothing, error) {
	return nil, d.people.RemoveUser(ctx, asking(ctx), in.ID)
}

func (d *directories) groups(ctx context.Context, in *struct {
	ManySCIMGroups
	SCIMSearch
	SCIMFields
}) (*scimAnswer, error) {
	f, err := scim.ParseFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	all, err := d.people.Groups(ctx, in.scope(), f, in.base())
	if err != nil {
		return nil, err
	}
	some, from := part(in.SCIMSearch, all)
	out := make([]scim.Object, len(some))
	for i, g := range some {
		out[i] = in.SCIMFields.of(g.Object(in.base()))
	}
	return answered(http.StatusOK, scim.List(out, len(all), from)), nil
}

func (d *directories) group(ctx context.Context, in *struct {
	OfSCIMGroup
	SCIMFields
}) (*scimAnswer, error) {
	g, err := d.people.Group(ctx, in.scope(), in.ID)
	return answered(http.StatusOK, in.SCIMFields.of(g.Object(in.base()))), err
}

func (d *directories) createGroup(ctx context.Context, in *struct {
	ManySCIMGroups
	SCIMBody
}) (*scimAnswer, error) {
	g, err := groupIn(in.RawBody)
	if err == nil {
		g, err = d.people.CreateGroup(ctx, asking(ctx), g)
	}
	return answered(http.StatusCreated, g.Object(in.base())), err
}

func groupIn(body []byte) (scim.Group, error) {
	o, err := scim.Parse(body)
	if err != nil {
		return scim.Group{}, err
	}
	return scim.GroupOf(o)
}

func (d *directories) putGroup(ctx context.Context, in *struct {
	OfSCIMGroup
	SCIMBody
}) (*scimAnswer, error) {
	g, err := groupIn(in.RawBody)
	if err == nil {
		g, err = d.people.ChangeGroup(ctx, asking(ctx), in.ID, func(scim.Group) (scim.Group, error) { return g, nil })
	}
	return answered(http.StatusOK, g.Object(in.base())), err
}

// patchGroup answers nothing: the group may have thousands of members.
func (d *directories) patchGroup(ctx context.Context, in *struct {
	OfSCIMGroup
	SCIMBody
}) (*nothing, error) {
	patch, err := scim.ParsePatch(in.RawBody)
	if err == nil {
		_, err = d.people.ChangeGroup(ctx, asking(ctx), in.ID, func(was scim.Group) (scim.Group, error) { return was.Patched(patch, in.base()) })
	}
	return nil, err
}

func (d *directories) deleteGroup(ctx context.Context, in *OfSCIMGroup) (*nothing, error) {
	return nil, d.people.RemoveGroup(ctx, asking(ctx), in.ID)
}

// SCIMProblem is the body of every answer of SCIM that isn't a success.
type SCIMProblem struct {
	Schemas  []string `json:"schemas"`
	Status   string   `json:"status"`
	ScimType string   `json:"scimType,omitempty" doc:"What is wrong, as RFC 7644 has it"`
	Detail   string   `json:"detail" doc:"A sentence for people"`

	of *Problem
}

// scimProblem tells of a problem as directories understand it; err is what it came
// from.
func scimProblem(p *Problem, err error) *SCIMProblem {
	detail := p.Message
	if len(p.Details) > 0 && err != nil {
		detail = fault.Told(err)
	}
	return &SCIMProblem{Schemas: []string{scim.ErrorSchema}, Status: strconv.Itoa(p.GetStatus()), ScimType: string(scim.ProblemOf(err)), Detail: detail, of: p}
}

// Error is the message (error).
func (p *SCIMProblem) Error() string { return p.Detail }

// GetStatus is the HTTP status of the problem's code (huma.StatusError).
func (p *SCIMProblem) GetStatus() int { return p.of.GetStatus() }

// ContentType is that of SCIM, whatever the caller accepts (huma.ContentTypeFilter).
func (p *SCIMProblem) ContentType(string) string { return scim.MediaType }

// GetHeaders tells when to try again what may go then (huma.HeadersError).
func (p *SCIMProblem) GetHeaders() http.Header { return p.of.GetHeaders() }
