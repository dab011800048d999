// Package rbac says what roles, resource groups and role assignments come to:
// the rights that pkg/access/right decides by. It is pure: it reads no store and no
// clock, and the same documents give the same rights.
//
// It decodes nothing and checks no identifier: documents are pkg/entity's.
package rbac

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Level is a sort of scope.
type Level string

// The levels, spelled as in allowedScopeLevels.
const (
	AccountLevel      Level = "account"
	OrganizationLevel Level = "organization"
	ProjectLevel      Level = "project"
)

// LevelOf is the level of a scope.
func LevelOf(s ref.Scope) Level {
	switch {
	case s.Project != "":
		return ProjectLevel
	case s.Org != "":
		return OrganizationLevel
	}
	return AccountLevel
}

// At is the scope of a level around a scope, or that itself; false: it is within.
func (l Level) At(s ref.Scope) (ref.Scope, bool) {
	switch l {
	case AccountLevel:
		return ref.Scope{Account: s.Account}, true
	case OrganizationLevel:
		return ref.Scope{Account: s.Account, Org: s.Org}, s.Org != ""
	case ProjectLevel:
		return s, s.Project != ""
	}
	return s, l == ""
}

// Reaches says whether a permission can be had at a level or below.
func (l Level) Reaches(p action.Permission) bool {
	return strings.ContainsAny(p.Levels, map[Level]string{AccountLevel: "AOP", OrganizationLevel: "OP", ProjectLevel: "P"}[l])
}

// Role is a list of permissions. A custom one lives in a scope and is assigned there.
type Role struct {
	ID          string
	Permissions action.Set
}

// The ways of a resource group to include a scope.
const (
	WithoutChildren = "EXCLUDING_CHILD_SCOPES"
	WithChildren    = "INCLUDING_CHILD_SCOPES"
)

// Group is the resources that an assignment is about.
type Group struct {
	ID     string
	Within []right.Extent // none: the scope of the group, alone
	All    bool
	Only   []right.Selector // of what there is within, unless it is all
}

// PrincipalType is who can be given a role.
type PrincipalType string

// The types, spelled as in role assignments.
const (
	User           PrincipalType = "USER"
	UserGroup      PrincipalType = "USER_GROUP"
	ServiceAccount PrincipalType = "SERVICE_ACCOUNT"
)

// AllUsers is the account's group that every user is in. It isn't saved.
const AllUsers = "_account_all_users"

// Person is what a user's document says. Groups name people by their identifiers
// or by their mail addresses.
type Person struct {
	Email    string
	Disabled bool // may nothing
	// Directory is what a directory says of the user beside that.
	Directory sso.Provisioned
}

// Principal is who is given a role: a user, who is the account's, or a group or
// a service account of the assignment's scope, or of one around it.
type Principal struct {
	Type  PrincipalType
	ID    string
	Level Level // empty: that of the assignment
}

// Assignment gives a principal a role over a resource group, in a scope.
type Assignment struct {
	ID        string
	Scope     ref.Scope
	Role      string
	Group     string
	Principal Principal
	Disabled  bool
}

// Who is a caller: a user or a service account, with the groups it is in.
type Who struct {
	Type   PrincipalType
	ID     string
	Scope  ref.Scope // of a service account
	Groups []ref.Ref
}

// is says whether an assignment is the caller's, or one of its groups'.
func (w Who) is(a Assignment) bool {
	p := a.Principal
	scope, around := p.Level.At(a.Scope)
	switch p.Type {
	case User:
		return w.Type == User && strings.EqualFold(w.ID, p.ID)
	case ServiceAccount:
		return around && w.Type == ServiceAccount && w.ID == p.ID && w.Scope == scope
	case UserGroup:
		return around && slices.Contains(w.Groups, ref.Ref{Scope: scope, ID: p.ID})
	}
	return false
}

// Documents finds what assignments name.
type Documents struct {
	Roles  map[ref.Ref]Role
	Groups map[ref.Ref]Group
}

// OfAdmin says whether it makes a user the account's administrator.
func (a Assignment) OfAdmin() bool {
	return LevelOf(a.Scope) == AccountLevel && a.Role == "_account_admin" && a.Group == "_all_resources_including_child_scopes" &&
		a.Principal.Type == User && !a.Disabled
}

// Rights are those that a caller has by assignments. One that names a role or a
// group that isn't there gives nothing.
func Rights(who Who, assignments []Assignment, docs Documents) []right.Right {
	var out []right.Right
	for _, a := range assignments {
		if !a.Disabled && who.is(a) {
			out = append(out, Given(a, docs)...)
		}
	}
	return out
}

// Given is the right, if any, that an assignment gives whoever it is for.
func Given(a Assignment, docs Documents) []right.Right {
	role, known := builtInRole(a.Role, LevelOf(a.Scope))
	if !known {
		role, known = docs.Roles[ref.Ref{Scope: a.Scope, ID: a.Role}]
	}
	if !known {
		return nil
	}
	group, known := builtInGroup(a.Group, a.Scope)
	if !known {
		group, known = docs.Groups[ref.Ref{Scope: a.Scope, ID: a.Group}]
	}
	if !known || !group.All && len(group.Only) == 0 {
		return nil
	}
	r := right.Right{By: a.ID + ": " + a.Role + " over " + a.Group + " in " + a.Scope.String(), Permissions: role.Permissions}
	for _, e := range group.Within {
		if a.Scope.Covers(e.Scope) { // a group reaches no farther than the assignment
			r.Within = append(r.Within, e)
		}
	}
	if len(group.Within) == 0 {
		r.Within = []right.Extent{{Scope: a.Scope}}
	}
	if !group.All {
		r.Only = group.Only
	}
	if len(r.Within) == 0 {
		return nil
	}
	return []right.Right{r}
}
