package api

import (
	"context"
	"net/http"
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

// mostSCIM is how many resources an answer has at most.
const mostSCIM = 200

// part is that of a list that is asked for, with where it begins.
func part[T any](in SCIMSearch, all []T) ([]T, int) {
	from := max(in.Start, 1)
	list := all[min(from-1, len(all)):]
	return list[:min(max(in.Count, 0), mostSCIM, len(list))], from
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
			SkipValidateBody: true,
		}
	}
	handle(s, action.EntityView, op("listScimUsers", http.MethodGet, "/Users", "Find users whom a directory manages", 0), d.users)
	handle(s, action.EntityCreate, op("createScimUser", http.MethodPost, "/Users", "Make a user", maxSCIMUser), d.createUser)
	handle(s, action.EntityView, op("getScimUser", http.MethodGet, "/Users/{id}", "Read a user", 0), d.user)
	handle(s, action.EntitySave, op("putScimUser", http.MethodPut, "/Users/{id}", "Say all of a user", maxSCIMUser), d.putUser)
	handle(s, action.EntitySave, op("patchScimUser", http.MethodPatch, "/Users/{id}", "Change a user", maxSCIMUser), d.patchUser)
}

type (
	scimUsers struct {
		InDirectory
		SCIMSearch
	}
	OfSCIMUser struct {
		InDirectory
		ID string `path:"id" maxLength:"128"`
	}
	scimNewUser struct {
		InDirectory
		RawBody []byte `contentType:"application/scim+json"`
	}
	scimUserBody struct {
		OfSCIMUser
		RawBody []byte `contentType:"application/scim+json"`
	}
)

func (in *scimUsers) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.User, "")
}

func (in *OfSCIMUser) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.User, in.ID)
}

func (in *scimNewUser) about(ctx context.Context, _ *Server) (right.Resource, error) {
	return in.of(ctx, ref.User, "")
}

func (d *directories) users(ctx context.Context, in *scimUsers) (*scimAnswer, error) {
	f, err := scim.ParseFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	all, err := d.people.Users(ctx, in.scope(), f, in.base())
	if err != nil {
		return nil, err
	}
	some, from := part(in.SCIMSearch, all)
	var out []scim.Object
	for _, u := range some {
		out = append(out, u.Object(in.base()))
	}
	return answered(http.StatusOK, scim.List(out, len(all), from)), nil
}

func (d *directories) user(ctx context.Context, in *OfSCIMUser) (*scimAnswer, error) {
	u, err := d.people.User(ctx, in.scope(), in.ID)
	return answered(http.StatusOK, u.Object(in.base())), err
}

func (d *directories) createUser(ctx context.Context, in *scimNewUser) (*scimAnswer, error) {
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

func (d *directories) putUser(ctx context.Context, in *scimUserBody) (*scimAnswer, error) {
	u, err := userIn(in.RawBody)
	if err == nil {
		u, err = d.people.ChangeUser(ctx, asking(ctx), in.ID, func(scim.User) (scim.User, error) { return u, nil })
	}
	return answered(http.StatusOK, u.Object(in.base())), err
}

func (d *directories) patchUser(ctx context.Context, in *scimUserBody) (*scimAnswer, error) {
	patch, err := scim.ParsePatch(in.RawBody)
	if err != nil {
		return nil, err
	}
	u, err := d.people.ChangeUser(ctx, asking(ctx), in.ID, func(was scim.User) (scim.User, error) {
		o, err := patch.Apply(was.Object(in.base()))
		if err != nil {
			return was, err
		}
		return scim.UserOf(o)
	})
	return answered(http.StatusOK, u.Object(in.base())), err
}
