package catalog

import (
	"context"
	"maps"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/rbac"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// allowed says whether who saves a draft may do so: to what there will be, and
// to what there is. Nobody can take a connector out of a condition's reach, or
// into it.
func allowed(ctx context.Context, d Draft, p prepared) error {
	if d.By == nil {
		return nil
	}
	do := action.EntitySave
	if p.stored.Version == 0 {
		do = action.EntityCreate
	}
	key := p.next.Key
	on := grants.Resource(key)
	if ref.Parent(key.Kind) != "" { // the conditions are its parent's to fulfil
		return d.By.Allow(ctx, do, on)
	}
	for _, text := range [][]byte{p.stored.YAML, d.YAML} {
		if text == nil {
			continue
		}
		on.Attribute = grants.AttributesOf(key.Kind, text)
		if err := d.By.Allow(ctx, do, on); err != nil {
			return err
		}
	}
	return nil
}

// grantable refuses a draft by which somebody would have what its author
// doesn't: an assignment that gives it, or a document that assignments name.
func (c *Catalog) grantable(ctx context.Context, d Draft, p prepared) error {
	e := p.entity
	if !ref.OfAccess(e.Kind) {
		return nil
	}
	if e.RoleAssignment != nil {
		for i, target := range p.next.Refs {
			if _, err := c.Store.Entity(ctx, target); fault.Is(err, fault.NotFound) {
				at := e.References[min(i, len(e.References)-1)]
				return fault.New(fault.Invalid, "%s doesn't exist, and a role assignment names what there is", target.Describe()).With(fault.Detail{
					File: d.File, Path: at.At.Path, Line: at.At.Line, Column: at.At.Column, Severity: "error", Code: document.BadReference, Message: target.Describe() + " doesn't exist",
				})
			} else if err != nil {
				return err
			}
		}
	}
	if d.By == nil {
		return nil
	}
	if d.Directory {
		// It says who people are and who is in its groups, whatever these may do.
		if err := provisions(ctx, d.By, d.Scope.Account); err != nil {
			return err
		}
		return takesOver(ctx, *d.By, p)
	}
	if e.Kind == ref.User && called(p.stored) != e.User.Email {
		// By a mail address, too, one is in the groups that have it, wherever they are.
		if err := d.By.Everything(ctx); err != nil {
			return fault.Wrap(err, "only who may do everything in the account says what a user's mail address is, because groups name people by it")
		}
	}
	if e.Kind == ref.LoginProvider {
		// Who says who somebody is can be everybody, and gets what clientSecretRef names.
		if err := d.By.Everything(ctx); err != nil {
			return fault.Wrap(err, "only who may do everything in the account says by whom people log in")
		}
	}
	return c.eachAssignment(ctx, p, func(a rbac.Assignment) error {
		given, err := c.gives(ctx, a, e)
		if err != nil {
			return err
		}
		return d.By.Covers(ctx, given)
	})
}

// Join saves the user whom somebody becomes by logging in: there must be none of
// that identifier.
func (c *Catalog) Join(ctx context.Context, account ref.Scope, document []byte, by audit.Author) (store.EntityKey, error) {
	made, err := c.Save(ctx, Draft{Scope: account, YAML: document, Strict: true}, by)
	return made.Key, err
}

// loggable refuses a directory where none can be asked, whose groups would be
// nobody's, and members of a group that a provider names.
func loggable(noDirectory string, d Draft, e *entity.Entity) error {
	linked := e.UserGroup != nil && e.UserGroup.Link.Provider != ""
	if p := e.LoginProvider; p != nil && p.Type == sso.LDAP && noDirectory != "" {
		return fault.New(fault.Invalid, "%s", noDirectory).With(fault.Detail{
			File: d.File, Line: e.Doc.Line, Column: e.Doc.Column, Severity: "error", Code: "UNSUPPORTED", Message: noDirectory,
		})
	}
	if linked && len(e.UserGroup.Users) > 0 {
		return fault.New(fault.Conflict, "the members of user group %q are those whom the login provider %q names when they log in; take users and userEmails out, or the link", e.Identifier.Value, e.UserGroup.Link.Provider)
	}
	return nil
}

// called is the mail address of a user as it was saved.
func called(saved store.Entity) string {
	if e := grants.Decoded(saved); e != nil && e.User != nil {
		return e.User.Email
	}
	return ""
}

// savedAccess reads a document about access; nil: there is none.
func (c *Catalog) savedAccess(ctx context.Context, key store.EntityKey) (*entity.Entity, error) {
	saved, err := c.Store.Entity(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return grants.Decoded(saved), err
}

// eachAssignment visits the assignment that a draft is, or those that name it.
func (c *Catalog) eachAssignment(ctx context.Context, p prepared, visit func(rbac.Assignment) error) error {
	if a := p.entity.RoleAssignment; a != nil {
		return visit(*a)
	}
	if p.stored.Version == 0 { // nothing names what there isn't
		return nil
	}
	return c.eachNaming(ctx, p.next.Key, visit)
}

// eachNaming visits the assignments that name something.
func (c *Catalog) eachNaming(ctx context.Context, named store.EntityKey, visit func(rbac.Assignment) error) error {
	for key, err := range store.Naming(ctx, c.Store, named) {
		if err != nil {
			return err
		}
		if key.Kind != ref.RoleAssignment {
			continue
		}
		saved, err := c.Store.Entity(ctx, key)
		if err != nil {
			return err
		}
		if e := grants.Decoded(saved); e != nil && e.RoleAssignment != nil {
			if err := visit(*e.RoleAssignment); err != nil {
				return err
			}
		}
	}
	return nil
}

// gives are the rights that an assignment gives whoever it is for, once a
// document is saved. One that is disabled is judged as if it weren't.
func (c *Catalog) gives(ctx context.Context, a rbac.Assignment, with *entity.Entity) ([]right.Right, error) {
	docs := rbac.Documents{Roles: map[ref.Ref]rbac.Role{}, Groups: map[ref.Ref]rbac.Group{}}
	find := func(kind ref.Kind, id string) (*entity.Entity, error) {
		if with.Kind == kind && with.Scope == a.Scope && with.Identifier.Value == id {
			return with, nil
		}
		return c.savedAccess(ctx, store.EntityKey{Scope: a.Scope, Kind: kind, ID: id})
	}
	if !rbac.BuiltInRole(a.Role, rbac.LevelOf(a.Scope)) {
		e, err := find(ref.Role, a.Role)
		if err != nil {
			return nil, err
		}
		if e != nil && e.Role != nil {
			docs.Roles[ref.Ref{Scope: a.Scope, ID: a.Role}] = *e.Role
		}
	}
	if !rbac.BuiltInGroup(a.Group, a.Scope) {
		e, err := find(ref.ResourceGroup, a.Group)
		if err != nil {
			return nil, err
		}
		if e != nil && e.ResourceGroup != nil {
			docs.Groups[ref.Ref{Scope: a.Scope, ID: a.Group}] = *e.ResourceGroup
		}
	}
	return rbac.Given(a, docs), nil
}

// keepsAdmin refuses to take its administrator from an account: of the active
// users who may do everything by an assignment of their own one must be left.
// What has a next version is saved, what has none is deleted.
func (c *Catalog) keepsAdmin(ctx context.Context, account string, changes ...prepared) error {
	changed := map[store.EntityKey]*entity.Entity{}
	for _, p := range changes {
		switch key := p.stored.Key; {
		case p.entity != nil && ref.OfAccess(p.entity.Kind):
			changed[p.next.Key] = p.entity
		case p.entity == nil && ref.OfAccess(key.Kind):
			changed[key] = nil
		}
	}
	if len(changed) == 0 {
		return nil
	}
	before, after := 0, 0
	scope := ref.Scope{Account: account}
	counted := func(count *int, a *entity.Entity, find func(store.EntityKey) (*entity.Entity, error)) error {
		if a == nil || a.RoleAssignment == nil || !a.RoleAssignment.OfAdmin() {
			return nil
		}
		u, err := find(store.EntityKey{Scope: scope, Kind: ref.User, ID: a.RoleAssignment.Principal.ID})
		if u != nil && u.User != nil && !u.User.Disabled {
			*count++
		}
		return err
	}
	now := func(key store.EntityKey) (*entity.Entity, error) { return c.savedAccess(ctx, key) }
	then := func(key store.EntityKey) (*entity.Entity, error) {
		if e, ok := changed[key]; ok {
			return e, nil
		}
		return now(key)
	}
	was := map[store.EntityKey]*entity.Entity{}
	err := c.each(ctx, scope, ref.RoleAssignment, "", func(saved store.Entity) { was[saved.Key] = grants.Decoded(saved) })
	if err != nil {
		return err
	}
	will := maps.Clone(was)
	for key, e := range changed {
		if key.Kind == ref.RoleAssignment && key.Scope == scope {
			will[key] = e
		}
	}
	for _, a := range was {
		if err := counted(&before, a, now); err != nil {
			return err
		}
	}
	for _, a := range will {
		if err := counted(&after, a, then); err != nil {
			return err
		}
	}
	if before > 0 && after == 0 {
		return fault.New(fault.Conflict, "the account would have no administrator any more: no active user with _account_admin over _all_resources_including_child_scopes by an assignment of the user's own")
	}
	return nil
}

// Given are the rights that assignments give a service account by its own name,
// wherever they are.
func (c *Catalog) Given(ctx context.Context, principal store.EntityKey) ([]right.Right, error) {
	var out []right.Right
	err := c.eachNaming(ctx, principal, func(a rbac.Assignment) error {
		given, err := c.gives(ctx, a, &entity.Entity{})
		out = append(out, given...)
		return err
	})
	return out, err
}
