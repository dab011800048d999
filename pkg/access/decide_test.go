package access_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	account, org, web := ref.Scope{Account: "acme"}, ref.Scope{Account: "acme", Org: "o"}, ref.Scope{Account: "acme", Org: "o", Project: "web"}
	permissions := func(names ...string) (s action.Set) {
		for _, p := range action.Permissions() {
			for _, name := range names {
				if p.Name == name {
					s.Add(p)
				}
			}
		}
		return s
	}
	legacy := access.Legacy(store.AccessToken{Name: "ci", Scope: org})
	executor := access.Right{By: "executor", Permissions: permissions("core_pipeline_view", "core_pipeline_execute"), Within: []access.Extent{{Scope: web}}}
	orgOnly := access.Right{By: "org", Permissions: action.Every(), Within: []access.Extent{{Scope: org}}}
	connectors := access.Right{By: "connectors", Permissions: permissions("core_connector_edit"), Within: []access.Extent{{Scope: account, Children: true}}}
	some := access.Right{By: "some", Permissions: action.Every(), Within: []access.Extent{{Scope: web}}, Only: []access.Selector{
		{Type: "SECRET", IDs: []string{"key"}}, {Type: "CONNECTOR", Attribute: "category", Values: []string{"CODE_REPO", "TICKETING"}},
		{Type: action.Pipeline, Attribute: "tag", Values: []string{"team"}}, {Type: "FILE"},
	}}
	having := func(id, name string, values ...string) access.Resource {
		return access.Resource{Scope: web, ID: id, Attribute: func(n string) []string {
			if n == name {
				return values
			}
			return nil
		}}
	}
	for _, c := range []struct {
		name    string
		rights  []access.Right
		do      action.Action
		on      access.Resource
		by      string
		missing string
	}{
		{"nobody may anything", nil, action.PipelineView, access.Resource{Scope: web}, "", "core_pipeline_view"},
		{"a legacy token in its scope", []access.Right{legacy}, action.SecretEdit, access.Resource{Scope: org}, "token ci", ""},
		{"and in what is within", []access.Right{legacy}, action.SecretEdit, access.Resource{Scope: web}, "token ci", ""},
		{"and not above", []access.Right{legacy}, action.SecretEdit, access.Resource{Scope: account}, "", "core_secret_edit"},
		{"a role's permission", []access.Right{executor}, action.PipelineRun, access.Resource{Scope: web, ID: "p"}, "executor", ""},
		{"not one that it lacks", []access.Right{executor}, action.SecretEdit, access.Resource{Scope: web}, "", "core_secret_edit"},
		{"not elsewhere", []access.Right{executor}, action.PipelineRun, access.Resource{Scope: ref.Scope{Account: "acme", Org: "o", Project: "shop"}}, "", "core_pipeline_execute"},
		{"any of several permissions", []access.Right{executor}, action.ExecutionAbort, access.Resource{Scope: web}, "executor", ""},
		{"a scope without its children", []access.Right{orgOnly}, action.PipelineRun, access.Resource{Scope: web}, "", "core_pipeline_execute"},
		{"the scope itself", []access.Right{orgOnly}, action.PipelineRun, access.Resource{Scope: org}, "org", ""},
		{"rights add up", []access.Right{orgOnly, executor}, action.PipelineRun, access.Resource{Scope: web}, "executor", ""},
		{"by the kind", []access.Right{connectors}, action.EntitySave, access.Resource{Type: "CONNECTOR", Scope: web}, "connectors", ""},
		{"of another kind", []access.Right{connectors}, action.EntitySave, access.Resource{Type: "SECRET", Scope: web}, "", "core_secret_create"},
		{"another verb", []access.Right{connectors}, action.EntityDelete, access.Resource{Type: "CONNECTOR", Scope: web}, "", "core_connector_delete"},
		{"what isn't a matter of permissions", nil, action.ApprovalAnswer, access.Resource{Scope: web}, "", ""},
		{"a resource by its identifier", []access.Right{some}, action.SecretEdit, access.Resource{Scope: web, ID: "key"}, "some", ""},
		{"another identifier", []access.Right{some}, action.SecretEdit, access.Resource{Scope: web, ID: "lock"}, "", "core_secret_edit"},
		{"a type as a whole", []access.Right{some}, action.FileView, access.Resource{Scope: web, ID: "/x"}, "some", ""},
		{"another type", []access.Right{some}, action.TemplateEdit, access.Resource{Scope: web, ID: "key"}, "", "core_template_edit"},
		{"an attribute", []access.Right{some}, action.ConnectorTest, having("x", "category", "TICKETING"), "some", ""},
		{"another value of it", []access.Right{some}, action.ConnectorTest, having("x", "category", "MONITORING"), "", "core_connector_access"},
		{"an attribute that isn't known", []access.Right{some}, action.ConnectorTest, access.Resource{Scope: web, ID: "x"}, "", "core_connector_access"},
		{"a tag by its key", []access.Right{some}, action.PipelineRun, having("x", "tag", "a:b", "team:web"), "some", ""},
		{"and not by a part of it", []access.Right{some}, action.PipelineRun, having("x", "tag", "teams:web"), "", "core_pipeline_execute"},
		{"an action that there isn't", []access.Right{legacy}, "robot.dance", access.Resource{Scope: web}, "", ""},
		{"a type that there isn't", []access.Right{legacy}, action.EntityView, access.Resource{Type: "ROBOT", Scope: web}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := access.Decide(c.rights, action.Find(action.Catalogue(), c.do), c.on)
			refused := c.missing != "" || c.do == "robot.dance" || c.on.Type == "ROBOT"
			if d.Allowed == refused || d.By != c.by {
				t.Fatalf("decided %+v; want by %q, missing %q", d, c.by, c.missing)
			}
			err := d.Refusal("eve", c.on)
			if refused && (fault.CodeOf(err) != fault.Forbidden || !strings.Contains(err.Error(), c.missing)) || !refused && err != nil {
				t.Errorf("refused with %v; want it to name %q", err, c.missing)
			}
		})
	}
}
