package rbac_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/rbac"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// world is what the naive check looks at: everything as it was written.
type world struct {
	who         rbac.Who
	assignments []rbac.Assignment
	docs        rbac.Documents
}

// naive is the check as the specification tells it: assignment by assignment,
// permission by permission, with names and without sets.
func naive(w world, takes []action.Permission, t action.Type, on right.Resource) bool {
	for _, a := range w.assignments {
		if a.Disabled {
			continue
		}
		at := a.Scope
		switch a.Principal.Level {
		case rbac.AccountLevel:
			at = ref.Scope{Account: at.Account}
		case rbac.OrganizationLevel:
			at = ref.Scope{Account: at.Account, Org: at.Org}
		case rbac.ProjectLevel:
		}
		mine := false
		switch a.Principal.Type {
		case rbac.User:
			mine = w.who.Type == rbac.User && w.who.ID == a.Principal.ID
		case rbac.ServiceAccount:
			mine = w.who.Type == rbac.ServiceAccount && w.who.ID == a.Principal.ID && w.who.Scope == at
		case rbac.UserGroup:
			for _, g := range w.who.Groups {
				mine = mine || g == ref.Ref{Scope: at, ID: a.Principal.ID}
			}
		}
		role, knownRole := w.docs.Roles[ref.Ref{Scope: a.Scope, ID: a.Role}]
		group, knownGroup := w.docs.Groups[ref.Ref{Scope: a.Scope, ID: a.Group}]
		if !mine || !knownRole || !knownGroup {
			continue
		}
		allowed := false
		for _, p := range takes {
			allowed = allowed || role.Permissions.Has(p)
		}
		inside := len(group.Within) == 0 && on.Scope == a.Scope
		for _, e := range group.Within {
			lies := on.Scope == e.Scope || e.Children && strings.HasPrefix(on.Scope.String()+"/", e.Scope.String()+"/")
			within := strings.HasPrefix(e.Scope.String()+"/", a.Scope.String()+"/")
			inside = inside || lies && within
		}
		chosen := group.All
		for _, s := range group.Only {
			if s.Type != t {
				continue
			}
			fits := s.Attribute == "" && len(s.IDs) == 0
			for _, id := range s.IDs {
				fits = fits || id == on.ID
			}
			for _, v := range s.Values {
				for _, have := range on.Attribute(s.Attribute) {
					fits = fits || v == have || s.Attribute == "tag" && strings.HasPrefix(have, v+":")
				}
			}
			chosen = chosen || fits
		}
		if allowed && inside && chosen {
			return true
		}
	}
	return false
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// TestRightsAgreeWithANaiveCheck: two ways to say who may what, over many
// documents that chance has made.
func TestRightsAgreeWithANaiveCheck(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) // the same documents each time
	scopes := []ref.Scope{
		{Account: "a"}, {Account: "a", Org: "o"}, {Account: "a", Org: "p"}, {Account: "a", Org: "o", Project: "x"}, {Account: "a", Org: "o", Project: "y"}, {Account: "a", Org: "p", Project: "x"},
	}
	ids, types := []string{"i", "i", "i", "j"}, []action.Type{action.Pipeline, "CONNECTOR", action.Environment}
	entries := []action.Entry{action.Find(action.Catalogue(), action.PipelineRun), action.Find(action.Catalogue(), action.ConnectorTest), action.Find(action.Catalogue(), action.EntitySave), action.Find(action.Catalogue(), action.ExecutionAbort)}
	var permissions []action.Permission
	for _, e := range entries[:2] {
		permissions = append(permissions, e.Any...)
	}
	for _, typ := range types {
		permissions = append(permissions, entries[2].Takes(typ)...)
	}
	levels := []rbac.Level{"", rbac.AccountLevel, rbac.OrganizationLevel, rbac.ProjectLevel}
	yes, checked := 0, 0
	for checked < 100_000 {
		w := world{who: rbac.Who{Type: rbac.User, ID: pick(r, ids)}, docs: rbac.Documents{Roles: map[ref.Ref]rbac.Role{}, Groups: map[ref.Ref]rbac.Group{}}}
		if r.IntN(3) == 0 {
			w.who.Type, w.who.Scope = rbac.ServiceAccount, pick(r, scopes)
		}
		for range r.IntN(3) {
			w.who.Groups = append(w.who.Groups, ref.Ref{Scope: pick(r, scopes), ID: pick(r, ids)})
		}
		for range 2 + r.IntN(4) {
			a := rbac.Assignment{
				ID: "x", Scope: pick(r, scopes), Role: pick(r, ids), Group: pick(r, ids), Disabled: r.IntN(8) == 0,
				Principal: rbac.Principal{Type: pick(r, []rbac.PrincipalType{rbac.User, rbac.User, rbac.User, rbac.UserGroup, rbac.ServiceAccount}), ID: pick(r, ids)},
			}
			// A level is that of the assignment's scope or of one around it.
			if level := pick(r, levels); level == "" || slices.Index(levels, level) <= slices.Index(levels, rbac.LevelOf(a.Scope)) {
				a.Principal.Level = level
			}
			w.assignments = append(w.assignments, a)
			role := rbac.Role{ID: a.Role}
			for range 2 + r.IntN(6) {
				role.Permissions.Add(pick(r, permissions))
			}
			w.docs.Roles[ref.Ref{Scope: a.Scope, ID: a.Role}] = role
			group := rbac.Group{ID: a.Group, All: r.IntN(2) == 0}
			for range r.IntN(3) {
				group.Within = append(group.Within, right.Extent{Scope: pick(r, scopes), Children: r.IntN(2) == 0})
			}
			if !group.All {
				for range r.IntN(3) {
					s := right.Selector{Type: pick(r, types)}
					switch r.IntN(3) {
					case 0:
						s.IDs = []string{pick(r, ids)}
					case 1:
						s.Attribute, s.Values = "tag", []string{pick(r, []string{"team", "team:a", "team:b"})}
					}
					group.Only = append(group.Only, s)
				}
			}
			w.docs.Groups[ref.Ref{Scope: a.Scope, ID: a.Group}] = group
		}
		rights := rbac.Rights(w.who, w.assignments, w.docs)
		for range 50 {
			do := pick(r, entries)
			tags := pick(r, [][]string{nil, {"team:a"}, {"team:b", "x:y"}})
			on := right.Resource{Scope: pick(r, scopes), ID: pick(r, ids), Attribute: func(name string) []string {
				if name == "tag" {
					return tags
				}
				return nil
			}}
			if do.Verb != "" {
				on.Type = pick(r, types)
			}
			typ := cmp.Or(on.Type, do.Type)
			want, got := naive(w, do.Takes(typ), typ, on), right.Decide(rights, do, on)
			if got.Allowed != want {
				t.Fatalf("%s on %s %q in %s (tags %v) is allowed: %v; the naive check says %v\n%+v", do.Action, on.Type, on.ID, on.Scope, tags, got.Allowed, want, w)
			}
			if checked++; want {
				yes++
			}
		}
	}
	if yes < checked/50 || yes > checked/2 {
		t.Errorf("%d of %d were allowed; chance must have been one-sided", yes, checked)
	}
}

func TestBuiltInRoles(t *testing.T) {
	t.Parallel()
	web := ref.Scope{Account: "a", Org: "o", Project: "web"}
	account := ref.Scope{Account: "a"}
	for _, c := range []struct {
		role, group string
		scope       ref.Scope
		do          action.Action
		on          right.Resource
		want        bool
	}{
		{"_project_viewer", "_all_project_level_resources", web, action.PipelineView, right.Resource{Scope: web}, true},
		{"_project_viewer", "_all_project_level_resources", web, action.PipelineRun, right.Resource{Scope: web}, false},
		{"_pipeline_executor", "_all_project_level_resources", web, action.PipelineRun, right.Resource{Scope: web}, true},
		{"_pipeline_executor", "_all_project_level_resources", web, action.EntitySave, right.Resource{Scope: web, Type: action.Pipeline}, false},
		{"_pipeline_executor", "_all_project_level_resources", web, action.ConnectorTest, right.Resource{Scope: web}, true},
		{"_project_admin", "_all_project_level_resources", web, action.SecretEdit, right.Resource{Scope: web}, true},
		{"_project_admin", "_all_project_level_resources", web, action.IssuerRotate, right.Resource{Scope: web}, false},
		{"_account_admin", "_all_resources_including_child_scopes", account, action.SecretEdit, right.Resource{Scope: web}, true},
		{"_account_admin", "_all_account_level_resources", account, action.SecretEdit, right.Resource{Scope: web}, false},
		{"_account_admin", "_all_account_level_resources", account, action.IssuerRotate, right.Resource{Scope: account}, true},
		{"_gitops_admin_role", "_all_resources_including_child_scopes", account, action.GitOpsApplicationSync, right.Resource{Scope: web}, true},
		{"_gitops_admin_role", "_all_resources_including_child_scopes", account, action.PipelineView, right.Resource{Scope: web}, false},
		{"_account_admin", "_all_project_level_resources", web, action.PipelineView, right.Resource{Scope: web}, false}, // of another level
	} {
		rights := rbac.Rights(rbac.Who{Type: rbac.User, ID: "Ada"}, []rbac.Assignment{
			{ID: "x", Scope: c.scope, Role: c.role, Group: c.group, Principal: rbac.Principal{Type: rbac.User, ID: "ada"}},
		}, rbac.Documents{})
		if got := right.Decide(rights, action.Find(action.Catalogue(), c.do), c.on); got.Allowed != c.want {
			t.Errorf("%s with %s: %s in %s is %+v; want %v", c.role, c.group, c.do, c.on.Scope, got, c.want)
		}
	}
}

// TestGroupsReachNoFartherThanTheirAssignment: a group of an account that names
// other scopes gives nothing there to whoever has it in a project.
func TestGroupsReachNoFartherThanTheirAssignment(t *testing.T) {
	t.Parallel()
	web, shop := ref.Scope{Account: "a", Org: "o", Project: "web"}, ref.Scope{Account: "a", Org: "o", Project: "shop"}
	at := func(id string) ref.Ref { return ref.Ref{Scope: web, ID: id} }
	rights := rbac.Rights(rbac.Who{Type: rbac.User, ID: "ada"}, []rbac.Assignment{
		{ID: "x", Scope: web, Role: "all", Group: "both", Principal: rbac.Principal{Type: rbac.User, ID: "ada"}},
	}, rbac.Documents{
		Roles:  map[ref.Ref]rbac.Role{at("all"): {ID: "all", Permissions: action.Every()}},
		Groups: map[ref.Ref]rbac.Group{at("both"): {ID: "both", All: true, Within: []right.Extent{{Scope: web}, {Scope: shop}, {Scope: ref.Scope{Account: "a"}, Children: true}}}},
	})
	for scope, want := range map[ref.Scope]bool{web: true, shop: false, {Account: "a"}: false} {
		if got := right.Decide(rights, action.Find(action.Catalogue(), action.SecretEdit), right.Resource{Scope: scope}); got.Allowed != want {
			t.Errorf("in %s: %v", scope, got.Allowed)
		}
	}
	if text := fmt.Sprint(rights); !strings.Contains(text, "x: all over both") {
		t.Errorf("the rights %s don't say where they are from", text)
	}
}
