package rbac

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// builtIn is a role that is there without being saved.
type builtIn struct {
	id     string
	levels []Level
	has    func(p action.Permission, level Level) bool
}

func builtIns() []builtIn {
	all := []Level{AccountLevel, OrganizationLevel, ProjectLevel}
	every := func(action.Permission, Level) bool { return true }
	views := func(p action.Permission, _ Level) bool { return strings.HasSuffix(p.Name, "_view") }
	own := func(p action.Permission, level Level) bool {
		return p.Name == map[Level]string{AccountLevel: "core_account_view", OrganizationLevel: "core_organization_view", ProjectLevel: "core_project_view"}[level]
	}
	one := func(id string, level Level, has func(action.Permission, Level) bool) builtIn {
		return builtIn{id, []Level{level}, has}
	}
	return []builtIn{
		one("_account_admin", AccountLevel, every),
		one("_organization_admin", OrganizationLevel, every),
		one("_project_admin", ProjectLevel, every),
		one("_account_viewer", AccountLevel, views),
		one("_organization_viewer", OrganizationLevel, views),
		one("_project_viewer", ProjectLevel, views),
		one("_account_basic", AccountLevel, own),
		one("_organization_basic", OrganizationLevel, own),
		one("_project_basic", ProjectLevel, own),
		one("_pipeline_executor", ProjectLevel, executes),
		one("_dashboard_admin", AccountLevel, func(p action.Permission, _ Level) bool { return p.Type == "DASHBOARDS" }),
		one("_dashboard_viewer", AccountLevel, func(p action.Permission, _ Level) bool { return p.Name == "core_dashboards_view" }),
		one("_billing_admin", AccountLevel, func(action.Permission, Level) bool { return false }),
		one("_gitops_admin_role", AccountLevel, func(p action.Permission, _ Level) bool { return strings.HasPrefix(p.Name, "gitops_") }),
		{"_slipway_approver", all, func(p action.Permission, _ Level) bool { return p.Name == "core_pipeline_view" }},
	}
}

// executes says whether _pipeline_executor has a permission.
func executes(p action.Permission, _ Level) bool {
	verb := p.Word()
	switch p.Type {
	case "RESOURCEGROUP", "PROJECT", "USER", "USERGROUP", "ROLE", action.InputSet:
		return verb == "view"
	case action.Secret, action.Connector, action.Environment, action.Service, "ENVIRONMENT_GROUP", "TEMPLATE", "FILE":
		return verb == "view" || verb == "access"
	case action.Pipeline:
		return verb == "view" || verb == "execute"
	default:
		return false
	}
}

// BuiltInRole says whether there is a role without its being saved that is
// assignable at a level.
func BuiltInRole(id string, level Level) bool {
	_, known := builtInRole(id, level)
	return known
}

// BuiltInGroup says whether a scope has a resource group without its being saved.
func BuiltInGroup(id string, scope ref.Scope) bool {
	_, known := builtInGroup(id, scope)
	return known
}

// builtInRole finds one that is assignable at a level. It has the permissions
// that can be had at that level or below.
func builtInRole(id string, level Level) (Role, bool) {
	for _, b := range builtIns() {
		if b.id != id || !slices.Contains(b.levels, level) {
			continue
		}
		r := Role{ID: id}
		for _, p := range action.Permissions() {
			if level.Reaches(p) && b.has(p, level) {
				r.Permissions.Add(p)
			}
		}
		return r, true
	}
	return Role{}, false
}

// builtInGroups are the resource groups that are there without being saved, of
// a scope.
func builtInGroups(scope ref.Scope) []Group {
	all := func(id string, children bool) Group {
		return Group{ID: id, All: true, Within: []right.Extent{{Scope: scope, Children: children}}}
	}
	switch LevelOf(scope) {
	case AccountLevel:
		return []Group{all("_all_resources_including_child_scopes", true), all("_all_account_level_resources", false)}
	case OrganizationLevel:
		return []Group{all("_all_resources_including_child_scopes", true), all("_all_organization_level_resources", false)}
	case ProjectLevel:
	}
	return []Group{all("_all_project_level_resources", false)}
}

func builtInGroup(id string, scope ref.Scope) (Group, bool) {
	for _, g := range builtInGroups(scope) {
		if g.ID == id {
			return g, true
		}
	}
	return Group{}, false
}

// BuiltIn are the roles and the resource groups that are there without being
// saved.
type BuiltIn struct {
	Roles          []GivenRole `json:"roles" nullable:"false"`
	ResourceGroups []string    `json:"resourceGroups" nullable:"false" doc:"Identifiers"`
}

// GivenRole is a role that can be assigned in a scope without its being saved.
type GivenRole struct {
	Identifier  string   `json:"identifier"`
	Permissions []string `json:"permissions" nullable:"false"`
}

// BuiltInOf is what a scope has so.
func BuiltInOf(scope ref.Scope) BuiltIn {
	out := BuiltIn{Roles: []GivenRole{}, ResourceGroups: []string{}}
	for _, b := range builtIns() {
		r, ok := builtInRole(b.id, LevelOf(scope))
		if !ok {
			continue
		}
		one := GivenRole{Identifier: r.ID, Permissions: []string{}}
		for _, p := range action.Permissions() {
			if r.Permissions.Has(p) {
				one.Permissions = append(one.Permissions, p.Name)
			}
		}
		out.Roles = append(out.Roles, one)
	}
	for _, g := range builtInGroups(scope) {
		out.ResourceGroups = append(out.ResourceGroups, g.ID)
	}
	return out
}
