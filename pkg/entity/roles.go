package entity

import (
	"maps"
	"net/mail"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/rbac"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func (d roles) user(v yamldoc.Value, e *Entity) *rbac.Person {
	u := &rbac.Person{}
	d.Fields(v, document.Merge(d.own(e), document.Keys{
		"email":    d.mail(&u.Email),
		"disabled": d.settled(&u.Disabled),
	}, d.directory(v, &u.Directory, true)))
	d.Need(v, "identifier", "name")
	if e.Scope.Org != "" {
		d.Errorf(v, wrongScope, "users are the account's; want no orgIdentifier, and to save it with --org ''")
	}
	return u
}

func (d roles) serviceAccount(v yamldoc.Value, e *Entity) {
	d.Fields(v, document.Merge(d.own(e), document.Keys{"email": d.mail(nil)}))
	d.Need(v, "identifier", "name")
}

// own are the keys of what every document has, where identifiers that begin
// with _ are those of what is built in.
func (d roles) own(e *Entity) document.Keys {
	keys := d.meta(e)
	identifier := keys["identifier"]
	keys["identifier"] = func(v yamldoc.Value) {
		if identifier(v); strings.HasPrefix(e.Identifier.Value, "_") {
			d.Errorf(v, document.BadIdentifier, "found %q; identifiers that begin with _ are those of what is built in", e.Identifier.Value)
		}
	}
	return keys
}

func (d roles) mail(into *string) document.Rule {
	return func(v yamldoc.Value) {
		f := d.Spelled(v, document.WrongValue, func(text string) error {
			_, err := mail.ParseAddress(text)
			return err
		})
		if into != nil {
			*into = f.Value
		}
	}
}

func (d roles) settled(into *bool) document.Rule {
	return func(v yamldoc.Value) {
		f := d.Bool(v)
		d.Plain(v, f.Expr, "true or false")
		*into = f.Value
	}
}

func (d roles) role(v yamldoc.Value, e *Entity) *rbac.Role {
	r, level := &rbac.Role{}, rbac.LevelOf(e.Scope)
	d.Fields(v, document.Merge(d.own(e), document.Keys{
		"permissions": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				d.permission(item, level, r)
			}
		},
		"allowedScopeLevels": d.levels(level),
	}))
	d.Need(v, "identifier", "name")
	r.ID = e.Identifier.Value
	return r
}

// permission adds a permission to a role. One of what Slipway doesn't have is
// kept in the document, and gives nothing.
func (d roles) permission(v yamldoc.Value, level rbac.Level, r *rbac.Role) {
	f := d.String(v)
	d.Plain(v, f.Expr, "a permission")
	if f.Expr != "" || !f.Set {
		return
	}
	found := action.Named(f.Value)
	for _, p := range found {
		if !level.Reaches(p) {
			d.Errorf(v, document.WrongValue, "the permission %s can't be had by a role of a scope of the level %s", p.Name, level)
		}
		r.Permissions.Add(p)
	}
	if len(found) > 0 {
		return
	}
	var names []string
	for _, p := range action.Permissions() {
		names = append(names, p.Name)
	}
	if hint := d.Hint(f.Value, names); hint != "" {
		d.Errorf(v, document.WrongValue, "found the permission %q, which there isn't%s", yamldoc.Shorten(f.Value), hint)
		return
	}
	d.Warnf(v, document.NoEffect, "the permission %q is of nothing that Slipway has; it is kept, and gives nothing", yamldoc.Shorten(f.Value))
}

// levels checks allowedScopeLevels: what is saved in a scope is of its level.
func (d roles) levels(own rbac.Level) document.Rule {
	return func(v yamldoc.Value) {
		f := d.Strings(v)
		d.Plain(v, f.Expr, "a list with "+string(own))
		if f.Expr == "" && f.Set && (len(f.Value) != 1 || f.Value[0] != string(own)) {
			d.Errorf(v, document.WrongValue, "found %s; want %s, the level of where the document lives", strings.Join(f.Value, ", "), own)
		}
	}
}

// maxGroupParts is how many resources a resource group may list.
const maxGroupParts = 100

func (d roles) resourceGroup(v yamldoc.Value, e *Entity) *rbac.Group {
	g := &rbac.Group{}
	var resources yamldoc.Value
	d.Fields(v, document.Merge(d.own(e), document.Keys{
		"color":              d.Text(nil), // shown by Harness's console
		"accountIdentifier":  document.Nothing,
		"allowedScopeLevels": d.levels(rbac.LevelOf(e.Scope)),
		"includedScopes": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				d.included(item, e.Scope, g)
			}
		},
		"resourceFilter": func(v yamldoc.Value) { resources = v; d.resources(v, g) },
	}))
	d.Need(v, "identifier", "name", "resourceFilter")
	g.ID = e.Identifier.Value
	alone := len(g.Within) == 0 || len(g.Within) == 1 && g.Within[0] == right.Extent{Scope: e.Scope}
	if !alone && slices.ContainsFunc(g.Only, func(s right.Selector) bool { return len(s.IDs) > 0 }) {
		d.Errorf(resources, document.Ambiguous, "identifiers name resources of the group's own scope; they can't be combined with includedScopes of others, or of what is within them")
	}
	if len(g.Only) > maxGroupParts {
		d.Errorf(resources, document.WrongValue, "found %d resources; want at most %d", len(g.Only), maxGroupParts)
	}
	return g
}

func (d roles) included(v yamldoc.Value, own ref.Scope, g *rbac.Group) {
	var filter, org, project yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"filter":            d.Literal(&filter, rbac.WithoutChildren, rbac.WithChildren),
		"accountIdentifier": document.Nothing,
		"orgIdentifier":     d.PlainText(&org, "an organization"),
		"projectIdentifier": d.PlainText(&project, "a project"),
	})
	d.Need(v, "filter")
	in := ref.Scope{Account: own.Account, Org: org.Value, Project: project.Value}
	switch err := in.Check(); {
	case err != nil:
		d.Errorf(v, wrongScope, "%s", err)
	case in.Project != "" && in.Org == "":
		d.Errorf(v, wrongScope, "a project needs an orgIdentifier")
	case !own.Covers(in):
		d.Errorf(v, wrongScope, "%s isn't within %s, where the resource group lives", in, own)
	}
	g.Within = append(g.Within, right.Extent{Scope: in, Children: filter.Value == rbac.WithChildren})
}

func (d roles) resources(v yamldoc.Value, g *rbac.Group) {
	d.Fields(v, document.Keys{
		"includeAllResources": d.settled(&g.All),
		"resources": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				g.Only = append(g.Only, d.selector(item))
			}
		},
	})
	switch {
	case g.All && len(g.Only) > 0:
		d.Errorf(document.Child(v, "resources"), document.Ambiguous, "includeAllResources is true, so that resources would count for nothing; want one of the two")
	case !g.All && len(g.Only) == 0:
		d.Errorf(v, document.MissingKey, "the group has no resources; want resources, or includeAllResources: true")
	}
}

func (d roles) selector(v yamldoc.Value) right.Selector {
	var s right.Selector
	var typ yamldoc.Field[string]
	var types []string
	for _, t := range action.Types() {
		types = append(types, string(t))
	}
	of := action.Type(document.Peek(v, "resourceType"))
	d.Fields(v, document.Keys{
		"resourceType": d.Literal(&typ, types...),
		"identifiers": func(v yamldoc.Value) {
			f := d.Strings(v)
			d.Plain(v, f.Expr, "a list of identifiers")
			d.Filled(v, document.EmptyList, "identifiers is empty; without it all resources of the type are meant")
			s.IDs = f.Value
		},
		"attributeFilter": func(v yamldoc.Value) { d.attribute(v, of, &s) },
	})
	d.Need(v, "resourceType")
	if v.Node.Get("identifiers") != nil && v.Node.Get("attributeFilter") != nil {
		d.Errorf(v, document.Ambiguous, "found identifiers and attributeFilter; want only one of them")
	}
	s.Type = of
	return s
}

// attribute decodes the condition that resources of a type are chosen by.
func (d roles) attribute(v yamldoc.Value, of action.Type, s *right.Selector) {
	var name yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"attributeName": d.PlainText(&name, "an attribute"),
		"attributeValues": func(v yamldoc.Value) {
			f := d.Strings(v)
			d.Plain(v, f.Expr, "a list of values")
			d.Filled(v, document.EmptyList, "attributeValues is empty, so that nothing is chosen")
			s.Values = f.Value
		},
	})
	d.Need(v, "attributeName", "attributeValues")
	if s.Attribute = name.Value; s.Attribute == "tags" {
		s.Attribute = right.Tag
	}
	values, known := right.Attributes(of)[s.Attribute]
	switch {
	case name.Value == "" || of == "":
	case !known:
		d.Errorf(document.Child(v, "attributeName"), document.WrongValue, "resources of the type %s aren't chosen by %q; want %s", of, name.Value,
			document.Choice(slices.Sorted(maps.Keys(right.Attributes(of)))))
	case values != nil:
		for _, word := range s.Values {
			if !slices.Contains(values, word) {
				d.Errorf(document.Child(v, "attributeValues"), document.WrongValue, "found %q; want %s", yamldoc.Shorten(word), document.Choice(values))
			}
		}
	}
}

func (d roles) assignment(v yamldoc.Value, e *Entity) *rbac.Assignment {
	a := &rbac.Assignment{Scope: e.Scope}
	level := rbac.LevelOf(e.Scope)
	var at yamldoc.Field[string]
	role := func(v yamldoc.Value) { a.Role = d.given(v, ref.Role, e.Scope, rbac.BuiltInRole(v.Node.Value, level)) }
	d.Fields(v, document.Merge(d.own(e), document.Keys{
		"roleIdentifier": role,
		"roleReference": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"identifier": role,
				"scopeLevel": d.Literal(&at, string(level)),
			})
			d.Need(v, "identifier")
		},
		"resourceGroupIdentifier": func(v yamldoc.Value) {
			a.Group = d.given(v, ref.ResourceGroup, e.Scope, rbac.BuiltInGroup(v.Node.Value, e.Scope))
		},
		"principal": func(v yamldoc.Value) { a.Principal = d.principal(v, e.Scope) },
		"disabled":  d.settled(&a.Disabled),
		"managed": func(v yamldoc.Value) {
			d.Without(v, "true", d.Bool(v).Value, "Slipway manages no assignments")
		},
	}))
	d.Need(v, "identifier", "resourceGroupIdentifier", "principal")
	d.OneOf(v, "roleIdentifier", "roleReference")
	a.ID = e.Identifier.Value
	return a
}

// given decodes the identifier of what lives in a scope or is built in.
func (d roles) given(v yamldoc.Value, kind ref.Kind, in ref.Scope, builtIn bool) string {
	f := d.Spelled(v, document.BadReference, func(id string) error { return ref.CheckID(kind, id) })
	switch {
	case !f.Set || builtIn:
	case strings.HasPrefix(f.Value, "_"):
		d.Errorf(v, document.BadReference, "there is no built-in %s %q in a scope of the level %s", kind, yamldoc.Shorten(f.Value), rbac.LevelOf(in))
	default:
		d.names(v, kind, ref.Ref{Scope: in, ID: f.Value})
	}
	return f.Value
}

// names adds what a document names by its identifier alone.
func (d roles) names(v yamldoc.Value, kind ref.Kind, r ref.Ref) {
	d.references = append(d.references, Reference{Kind: kind, Ref: r, Text: r.Text(d.Scope), At: v.Pos(d.Report)})
}

// principal decodes who is given a role: of the assignment's scope, or of one
// around it.
func (d roles) principal(v yamldoc.Value, in ref.Scope) rbac.Principal {
	var p rbac.Principal
	var typ, level yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"type": d.Literal(&typ, string(rbac.User), string(rbac.UserGroup), string(rbac.ServiceAccount)),
		"identifier": func(v yamldoc.Value) {
			p.ID = d.Spelled(v, document.BadReference, func(id string) error { return ref.CheckID(ref.User, id) }).Value
		},
		"scopeLevel": d.Literal(&level, string(rbac.AccountLevel), string(rbac.OrganizationLevel), string(rbac.ProjectLevel)),
	})
	d.Need(v, "type", "identifier")
	p.Type, p.Level = rbac.PrincipalType(typ.Value), rbac.Level(level.Value)
	scope, around := p.Level.At(in)
	id := document.Child(v, "identifier")
	switch {
	case p.ID == "" || !typ.Set:
	case !around:
		d.Errorf(document.Child(v, "scopeLevel"), document.WrongValue, "the assignment lives in %s, which no scope of the level %s is around", in, p.Level)
	case p.Type == rbac.User:
		d.names(id, ref.User, ref.Ref{Scope: ref.Scope{Account: in.Account}, ID: p.ID})
	case p.Type == rbac.ServiceAccount:
		d.names(id, ref.ServiceAccount, ref.Ref{Scope: scope, ID: p.ID})
	case p.ID == rbac.AllUsers && scope.Org == "":
	case strings.HasPrefix(p.ID, "_"):
		d.Errorf(id, document.BadReference, "there is no built-in group %q there; want %s with scopeLevel: account, or a group that was saved", yamldoc.Shorten(p.ID), rbac.AllUsers)
	default:
		d.names(id, ref.UserGroup, ref.Ref{Scope: scope, ID: p.ID})
	}
	return p
}
