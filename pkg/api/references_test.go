package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/rbac"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// kept is what keeps an entity.
type kept struct {
	References []api.EntityKey
	Left       []fault.Detail
}

// What names something is told as far as the caller may see it. What is left in a
// scope is told to who may delete its record.
func TestWhatKeepsAnEntity(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save("role: {identifier: runner, name: Runner, permissions: [core_pipeline_view]}\n")
	s.save("roleAssignment: {identifier: all, roleIdentifier: runner, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER_GROUP, identifier: _account_all_users, scopeLevel: account}}\n")
	var got kept
	s.ask("GET", "/v1/entities/role/runner/references"+scope, "").want(200, &got)
	want := kept{References: []api.EntityKey{{Kind: "roleAssignment", ID: "all", Org: "default", Project: "web"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.ask("GET", "/v1/entities/role/nothing/references"+scope, "").problem(404)

	s.ask("PUT", "/v1/entities", "user: {identifier: eve, name: Eve, email: eve@example.com}\n").want(200, nil)
	eve := ref.Ref{Scope: ref.Scope{Account: "default"}, ID: "eve"}
	reader := s.mint(access.Grant{
		Kind: store.TokenUser, Scope: ref.Scope{Account: "default"}, Name: "eve", Actor: "eve",
		Principal: store.EntityKey{Scope: eve.Scope, Kind: ref.User, ID: "eve"},
	})
	s.save("role: {identifier: secrets, name: Secrets, permissions: [core_secret_view, core_project_view]}\n")
	s.save("roleAssignment: {identifier: eve, roleIdentifier: secrets, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER, identifier: eve}}\n")
	s.save("secret: {identifier: pass, name: Pass, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: hunter2}}\n")
	s.save("connector: {identifier: hub, name: Hub, type: DockerRegistry, spec: {dockerRegistryUrl: 'https://hub.example.com', providerType: Other, auth: {type: UsernamePassword, spec: {username: bo, passwordRef: pass}}}}\n")
	for token, want := range map[string]int{s.token: 1, reader: 0} {
		var told kept
		s.ask("GET", "/v1/entities/secret/pass/references"+scope, "", "Authorization", "Bearer "+token).want(200, &told)
		if len(told.References) != want {
			t.Errorf("the connector that names the secret: told of %v; want %d", told.References, want)
		}
	}

	got = kept{}
	s.ask("GET", "/v1/entities/project/web/references?org=default", "").want(200, &got)
	if len(got.Left) == 0 || !strings.HasPrefix(got.Left[0].Message, "it has secret pass") {
		t.Errorf("left in the project is %v", got.Left)
	}
	got = kept{}
	s.ask("GET", "/v1/entities/project/web/references?org=default", "", "Authorization", "Bearer "+reader).want(200, &got)
	if len(got.Left) != 0 {
		t.Errorf("who can't delete the project is told what is in it: %v", got.Left)
	}
}

// A list has documents if it is asked to, up to a bound.
func TestAListHasDocuments(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(environment)
	for query, want := range map[string]string{"": "", "&documents=true": environment} {
		var got api.EntityList
		s.ask("GET", "/v1/entities/environment"+scope+query, "").want(200, &got)
		if len(got.Entities) != 1 || got.Entities[0].YAML != want {
			t.Errorf("%q gives %+v", query, got.Entities)
		}
	}
	large := strings.Repeat("x", 700<<10)
	for _, id := range []string{"a", "b"} {
		s.save("environment: {name: " + id + ", identifier: " + id + ", type: PreProduction, description: " + large + "}\n")
	}
	var got api.EntityList
	s.ask("GET", "/v1/entities/environment"+scope+"&documents=true", "").want(200, &got)
	if got.Entities[0].YAML == "" || got.Entities[1].YAML != "" {
		t.Errorf("of two large documents the list has %d and %d bytes", len(got.Entities[0].YAML), len(got.Entities[1].YAML))
	}
}

func TestBuiltInRolesAreThoseOfTheScope(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for query, want := range map[string][]string{
		"":                         {"_account_admin", "_all_account_level_resources"},
		"?org=default":             {"_organization_admin", "_all_organization_level_resources"},
		"?org=default&project=web": {"_project_admin", "_all_project_level_resources"},
	} {
		var got rbac.BuiltIn
		s.ask("GET", "/v1/access/built-in"+query, "").want(200, &got)
		role := slices.IndexFunc(got.Roles, func(r rbac.GivenRole) bool { return r.Identifier == want[0] })
		if role < 0 || !slices.Contains(got.Roles[role].Permissions, "core_pipeline_execute") || !slices.Contains(got.ResourceGroups, want[1]) {
			t.Errorf("%q: %+v", query, got)
		}
	}
}
