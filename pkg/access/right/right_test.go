package right_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
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
	legacy := right.Legacy(org)
	executor := right.Right{By: "executor", Permissions: permissions("core_pipeline_view", "core_pipeline_execute"), Within: []right.Extent{{Scope: web}}}
	orgOnly := right.Right{By: "org", Permissions: action.Every(), Within: []right.Extent{{Scope: org}}}
	connectors := right.Right{By: "connectors", Permissions: permissions("core_connector_edit"), Within: []right.Extent{{Scope: account, Children: true}}}
	some := right.Right{By: "some", Permissions: action.Every(), Within: []right.Extent{{Scope: web}}, Only: []right.Selector{
		{Type: "SECRET", IDs: []string{"key"}}, {Type: "CONNECTOR", Attribute: "category", Values: []string{"CODE_REPO", "TICKETING"}},
		{Type: action.Pipeline, Attribute: "tag", Values: []string{"team"}}, {Type: "FILE"},
	}}
	having := func(id, name string, values ...string) right.Resource {
		return right.Resource{Scope: web, ID: id, Attribute: func(n string) []string {
			if n == name {
				return values
			}
			return nil
		}}
	}
	for _, c := range []struct {
		name    string
		rights  []right.Right
		do      action.Action
		on      right.Resource
		by      string
		missing string
	}{
		{"nobody may anything", nil, action.PipelineView, right.Resource{Scope: web}, "", "core_pipeline_view"},
		{"a legacy token in its scope", []right.Right{legacy}, action.SecretEdit, right.Resource{Scope: org}, "the token, which is nobody's: everything in acme/o", ""},
		{"and in what is within", []right.Right{legacy}, action.SecretEdit, right.Resource{Scope: web}, "the token, which is nobody's: everything in acme/o", ""},
		{"and not above", []right.Right{legacy}, action.SecretEdit, right.Resource{Scope: account}, "", "core_secret_edit"},
		{"a role's permission", []right.Right{executor}, action.PipelineRun, right.Resource{Scope: web, ID: "p"}, "executor", ""},
		{"not one that it lacks", []right.Right{executor}, action.SecretEdit, right.Resource{Scope: web}, "", "core_secret_edit"},
		{"not elsewhere", []right.Right{executor}, action.PipelineRun, right.Resource{Scope: ref.Scope{Account: "acme", Org: "o", Project: "shop"}}, "", "core_pipeline_execute"},
		{"any of several permissions", []right.Right{executor}, action.ExecutionAbort, right.Resource{Scope: web}, "executor", ""},
		{"a scope without its children", []right.Right{orgOnly}, action.PipelineRun, right.Resource{Scope: web}, "", "core_pipeline_execute"},
		{"the scope itself", []right.Right{orgOnly}, action.PipelineRun, right.Resource{Scope: org}, "org", ""},
		{"a project's record is in the project", []right.Right{executor, {By: "own", Permissions: action.Every(), Within: []right.Extent{{Scope: web}}}}, action.EntitySave, right.Resource{Type: action.Project, Scope: web, ID: "web"}, "own", ""},
		{"and among its organization's projects", []right.Right{orgOnly}, action.EntitySave, right.Resource{Type: action.Project, Scope: web, ID: "web"}, "org", ""},
		{"which are no other organization's", []right.Right{orgOnly}, action.EntitySave, right.Resource{Type: action.Project, Scope: ref.Scope{Account: "acme", Org: "p", Project: "web"}, ID: "web"}, "", "core_project_edit"},
		{"who may do everything in a project doesn't touch its organization's record", []right.Right{{By: "own", Permissions: action.Every(), Within: []right.Extent{{Scope: web}}}}, action.EntitySave, right.Resource{Type: action.Organization, Scope: org, ID: "o"}, "", "core_organization_edit"},
		{"an organization's record is one of its account's", []right.Right{{By: "account", Permissions: action.Every(), Within: []right.Extent{{Scope: account}}}}, action.EntitySave, right.Resource{Type: action.Organization, Scope: org, ID: "o"}, "account", ""},
		{"and a project's isn't", []right.Right{{By: "account", Permissions: action.Every(), Within: []right.Extent{{Scope: account}}}}, action.EntitySave, right.Resource{Type: action.Project, Scope: web, ID: "web"}, "", "core_project_edit"},
		{"rights add up", []right.Right{orgOnly, executor}, action.PipelineRun, right.Resource{Scope: web}, "executor", ""},
		{"by the kind", []right.Right{connectors}, action.EntitySave, right.Resource{Type: "CONNECTOR", Scope: web}, "connectors", ""},
		{"of another kind", []right.Right{connectors}, action.EntitySave, right.Resource{Type: "SECRET", Scope: web}, "", "core_secret_edit"},
		{"another verb", []right.Right{connectors}, action.EntityDelete, right.Resource{Type: "CONNECTOR", Scope: web}, "", "core_connector_delete"},
		{"what isn't a matter of permissions", nil, action.ApprovalAnswer, right.Resource{Scope: web}, "", ""},
		{"a resource by its identifier", []right.Right{some}, action.SecretEdit, right.Resource{Scope: web, ID: "key"}, "some", ""},
		{"another identifier", []right.Right{some}, action.SecretEdit, right.Resource{Scope: web, ID: "lock"}, "", "core_secret_edit"},
		{"a type as a whole", []right.Right{some}, action.FileView, right.Resource{Scope: web, ID: "/x"}, "some", ""},
		{"another type", []right.Right{some}, action.TemplateEdit, right.Resource{Scope: web, ID: "key"}, "", "core_template_edit"},
		{"an attribute", []right.Right{some}, action.ConnectorTest, having("x", "category", "TICKETING"), "some", ""},
		{"another value of it", []right.Right{some}, action.ConnectorTest, having("x", "category", "MONITORING"), "", "core_connector_access"},
		{"an attribute that isn't known", []right.Right{some}, action.ConnectorTest, right.Resource{Scope: web, ID: "x"}, "", "core_connector_access"},
		{"a list, of which some can be seen", []right.Right{some}, action.ConnectorTest, right.Resource{Scope: web, Some: true}, "some", ""},
		{"a list, of which none can", []right.Right{some}, action.TemplateEdit, right.Resource{Scope: web, Some: true}, "", "core_template_edit"},
		{"a tag by its key", []right.Right{some}, action.PipelineRun, having("x", "tag", "a:b", "team:web"), "some", ""},
		{"and not by a part of it", []right.Right{some}, action.PipelineRun, having("x", "tag", "teams:web"), "", "core_pipeline_execute"},
		{"an action that there isn't", []right.Right{legacy}, "robot.dance", right.Resource{Scope: web}, "", ""},
		{"a type that there isn't", []right.Right{legacy}, action.EntityView, right.Resource{Type: "ROBOT", Scope: web}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := right.Decide(c.rights, action.Find(action.Catalogue(), c.do), c.on)
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
