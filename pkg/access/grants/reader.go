// Package grants says what a caller may do: it reads the roles, resource
// groups, groups and assignments that are saved around a scope, and asks
// pkg/access/right whether they allow it.
//
// What documents come to is pkg/access/rbac's, what an action takes
// pkg/access/action's, and how callers are known pkg/access's.
package grants

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/rbac"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Reader reads what principals may do. What it has read it keeps for as long as
// the account's access version stays, which it asks for each time: a change
// counts from the next request on.
type Reader struct {
	entities  store.Entities
	catalogue []action.Entry

	mu       sync.Mutex
	accounts map[string]*known
}

// New makes a Reader.
func New(entities store.Entities) *Reader {
	return &Reader{entities: entities, catalogue: action.Catalogue(), accounts: map[string]*known{}}
}

// Entry is the catalogue's of an action.
func (r *Reader) Entry(do action.Action) action.Entry { return action.Find(r.catalogue, do) }

// known is what is known of an account at an access version.
type known struct {
	version int64

	mu         sync.Mutex
	scopes     map[ref.Scope]documents
	principals map[store.EntityKey]principal
	lists      *[]allowlist.List // from where requests may come; nil: nobody has asked
	settings   map[ref.Scope]setting.Settings
}

// documents are those of a scope that say who may do what.
type documents struct {
	assignments []rbac.Assignment
	roles       []rbac.Role
	groups      []rbac.Group
	people      map[string]*entity.UserGroup // by identifier
}

// principal is a user or a service account as it was saved. Its zero value is
// one that there isn't.
type principal struct {
	saved store.Entity
	user  *rbac.Person // nil: it is a service account
	bound sso.Binding  // of a user who has logged in by a provider
}

// is says whether it is who was proved, and may do anything.
func (p principal) is(as store.Identity) bool {
	return p.saved.Version > 0 && !p.saved.CreatedAt.After(as.Since) && (p.user == nil || !p.user.Disabled)
}

// isIn says whether a group has it: groups name people by their identifiers or
// by their mail addresses, or are linked to a provider that names them.
func (p principal) isIn(g *entity.UserGroup) bool {
	if g.Link.Provider != "" {
		return p.user != nil && !p.saved.CreatedAt.After(p.bound.Since) && p.bound.In(g.Link)
	}
	return p.user != nil && (g.Has(p.saved.Key.ID) || p.user.Email != "" && g.Has(p.user.Email))
}

// rights are those that the caller has in a scope. They say nothing of other
// scopes, not even of those within.
func (c Caller) rights(ctx context.Context, scope ref.Scope) ([]right.Right, error) {
	as, r := c.as, c.reader
	switch {
	case !as.Within.Covers(scope):
		return nil, nil
	case as.Principal == store.EntityKey{}:
		return []right.Right{right.Legacy(as.Within)}, nil
	}
	at, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	p, err := r.principal(ctx, at, as.Principal)
	if err != nil || !p.is(as) {
		return nil, err
	}
	around := scope.Around()
	found := make([]documents, len(around))
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range around {
		g.Go(func() (err error) {
			found[i], err = r.in(ctx, at, s)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read who may do what in %s: %w", scope, err)
	}
	return p.rights(around, found), nil
}

// Admit refuses whom the IP allow lists of an account keep out.
func (r *Reader) Admit(ctx context.Context, account string, from allowlist.Origin) error {
	at, err := r.current(ctx, account)
	if err != nil {
		return err
	}
	return r.admit(ctx, at, account, from)
}

func (r *Reader) admit(ctx context.Context, at *known, account string, from allowlist.Origin) error {
	lists, err := r.admitting(ctx, at, account)
	if err != nil || allowlist.Admitted(lists, from) {
		return err
	}
	return fault.New(fault.Forbidden, "the IP allow lists of the account don't let %s in from %s", from.Source, from.Shown())
}

// admitting are the IP allow lists of an account.
func (r *Reader) admitting(ctx context.Context, at *known, account string) ([]allowlist.List, error) {
	at.mu.Lock()
	kept := at.lists
	at.mu.Unlock()
	if kept != nil {
		return *kept, nil
	}
	lists := []allowlist.List{}
	for saved, err := range store.All(ctx, r.entities, ref.Scope{Account: account}, ref.IPAllowlist, "") {
		if err != nil {
			return nil, fmt.Errorf("read from where requests may come: %w", err)
		}
		lists = append(lists, ListOf(saved))
	}
	at.mu.Lock()
	at.lists = &lists
	at.mu.Unlock()
	return lists, nil
}

// ListOf reads an IP allow list as it was saved.
func ListOf(saved store.Entity) allowlist.List {
	if e := Decoded(saved); e != nil && e.IPAllowlist != nil {
		return *e.IPAllowlist
	}
	return allowlist.Closed()
}

// rights are what the documents of scopes come to for a principal.
func (p principal) rights(scopes []ref.Scope, found []documents) []right.Right {
	key := p.saved.Key
	who := rbac.Who{Type: rbac.ServiceAccount, ID: key.ID, Scope: key.Scope}
	if p.user != nil {
		who = rbac.Who{Type: rbac.User, ID: key.ID, Groups: []ref.Ref{{Scope: key.Scope, ID: rbac.AllUsers}}}
	}
	docs := rbac.Documents{Roles: map[ref.Ref]rbac.Role{}, Groups: map[ref.Ref]rbac.Group{}}
	var assignments []rbac.Assignment
	for i, d := range found {
		assignments = append(assignments, d.assignments...)
		for _, role := range d.roles {
			docs.Roles[ref.Ref{Scope: scopes[i], ID: role.ID}] = role
		}
		for _, group := range d.groups {
			docs.Groups[ref.Ref{Scope: scopes[i], ID: group.ID}] = group
		}
		for id, people := range d.people {
			if p.isIn(people) {
				who.Groups = append(who.Groups, ref.Ref{Scope: scopes[i], ID: id})
			}
		}
	}
	return rbac.Rights(who, assignments, docs)
}

// current is what is known of an account as it is now.
func (r *Reader) current(ctx context.Context, account string) (*known, error) {
	version, err := r.entities.AccessVersion(ctx, account)
	if err != nil {
		return nil, fmt.Errorf("read whether it has changed who may do what in %s: %w", account, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.accounts[account]; k != nil && k.version >= version {
		return k, nil
	}
	k := &known{version: version, scopes: map[ref.Scope]documents{}, principals: map[store.EntityKey]principal{}, settings: map[ref.Scope]setting.Settings{}}
	r.accounts[account] = k
	return k, nil
}

// remembered is of how many scopes, and of how many principals, documents are kept.
const remembered = 1000

func keep[K comparable, V any](at *known, into map[K]V, key K, v V) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if len(into) >= remembered {
		clear(into)
	}
	into[key] = v
}

func kept[K comparable, V any](at *known, from map[K]V, key K) (V, bool) {
	at.mu.Lock()
	defer at.mu.Unlock()
	v, ok := from[key]
	return v, ok
}

func (r *Reader) principal(ctx context.Context, at *known, key store.EntityKey) (principal, error) {
	if p, ok := kept(at, at.principals, key); ok {
		return p, nil
	}
	saved, err := r.entities.Entity(ctx, key)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return principal{}, err
	}
	p := principal{saved: saved}
	if e := Decoded(saved); e == nil || e.Kind == ref.User && e.User == nil {
		p = principal{} // which may do nothing
	} else {
		p.user = e.User
		if p.bound, err = r.bound(ctx, key); err != nil {
			return principal{}, err
		}
	}
	keep(at, at.principals, key, p)
	return p, nil
}

// bound is how a user has logged in by a provider; nothing if never.
func (r *Reader) bound(ctx context.Context, user store.EntityKey) (sso.Binding, error) {
	if user.Kind != ref.User {
		return sso.Binding{}, nil
	}
	saved, err := r.entities.Entity(ctx, access.BindingKey(user.Scope.Account, user.ID))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return sso.Binding{}, err
	}
	return sso.Decode(saved.YAML), nil
}

// in reads the documents of a scope itself.
func (r *Reader) in(ctx context.Context, at *known, scope ref.Scope) (documents, error) {
	if d, ok := kept(at, at.scopes, scope); ok {
		return d, nil
	}
	kinds := []ref.Kind{ref.RoleAssignment, ref.Role, ref.ResourceGroup, ref.UserGroup}
	found := make([][]*entity.Entity, len(kinds))
	g, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		g.Go(func() (err error) {
			found[i], err = r.list(ctx, scope, kind)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return documents{}, err
	}
	d := documents{people: map[string]*entity.UserGroup{}}
	for _, e := range slices.Concat(found...) {
		switch {
		case e.RoleAssignment != nil:
			d.assignments = append(d.assignments, *e.RoleAssignment)
		case e.Role != nil:
			d.roles = append(d.roles, *e.Role)
		case e.ResourceGroup != nil:
			d.groups = append(d.groups, *e.ResourceGroup)
		case e.UserGroup != nil:
			d.people[e.Identifier.Value] = e.UserGroup
		}
	}
	keep(at, at.scopes, scope, d)
	return d, nil
}

func (r *Reader) list(ctx context.Context, scope ref.Scope, kind ref.Kind) ([]*entity.Entity, error) {
	var out []*entity.Entity
	for saved, err := range store.All(ctx, r.entities, scope, kind, "") {
		if err != nil {
			return nil, err
		}
		if e := Decoded(saved); e != nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// Decoded reads a document about access as it was saved; nil: there is none, or it
// can't be read, and so gives nothing to nobody.
func Decoded(saved store.Entity) *entity.Entity {
	docs, report := yamldoc.Parse("", saved.YAML)
	if len(docs) != 1 {
		return nil
	}
	e := entity.Decode(docs[0], report, entity.Options{Scope: saved.Key.Scope})
	if e == nil || report.Failed() {
		return nil
	}
	return e
}

// attributes gives the attributes of what an action is done to, as its document
// says them.
func (r *Reader) attributes(ctx context.Context, on right.Resource) func(string) []string {
	kinds := map[action.Type]ref.Kind{
		action.Pipeline: ref.Pipeline, action.Service: ref.Service, action.Environment: ref.Environment, action.Connector: ref.Connector,
		action.Secret: ref.Secret, "ENVIRONMENT_GROUP": ref.EnvironmentGroup,
	}
	kind, ok := kinds[on.Type]
	if !ok || on.ID == "" {
		return nil
	}
	return func(name string) []string {
		saved, err := r.entities.Entity(ctx, store.EntityKey{Scope: on.Scope, Kind: kind, ID: on.ID})
		if err != nil {
			return nil // and so it is none of those that are chosen
		}
		return AttributesOf(kind, saved.YAML)(name)
	}
}

// Resource is what an action on a document is done to: the document, or what it belongs
// to, such as a trigger's pipeline. The record of a scope is in the scope.
func Resource(key store.EntityKey) right.Resource {
	on := right.Resource{Type: action.TypeOf(key.Kind), Scope: key.Scope, ID: access.Owner(key)}
	switch key.Kind {
	case ref.Organization:
		on.Scope.Org = key.ID
	case ref.Project:
		on.Scope.Project = key.ID
	default:
	}
	return on
}

// AttributesOf are the attributes that a document says of itself.
func AttributesOf(kind ref.Kind, text []byte) func(name string) []string {
	return func(name string) []string {
		docs, _ := yamldoc.Parse("", text)
		if len(docs) != 1 {
			return nil
		}
		e := entity.Decode(docs[0], yamldoc.NewReport(""), entity.Options{}) // it was checked when it was saved
		if e == nil || e.Kind != kind {
			return nil
		}
		switch {
		case name == right.Tag:
			var out []string
			for key, value := range e.Tags.Value {
				out = append(out, strings.TrimSuffix(key+":"+value, ":"))
			}
			return out
		case name == "type" && e.Environment != nil:
			return []string{e.Environment.Type.Value}
		case name == "category" && e.Connector != nil:
			return []string{right.Category(e.Connector.Type.Value)}
		}
		return nil
	}
}
