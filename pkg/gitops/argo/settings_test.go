package argo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/gitops/settings"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TestSettings: what is wrong with a setting is told at its key, and where it stands
// in the key's text.
func TestSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"timeout.reconciliation: often":                                                     `timeout.reconciliation: found "often"; want a duration`,
		"resource.compareoptions: 'ignoreResourceStatusField: some'":                        "line 1 of the text: ignoreResourceStatusField: found \"some\"; want all, crd or none",
		"resource.exclusions: '[{kinds: [Event], apigroups: [x]}]'":                         `line 1 of the text: [0].apigroups: unknown key "apigroups"; did you mean "apiGroups"?`,
		"resource.exclusions: '{'":                                                          "line 1 of the text: ",
		"resource.inclusions: \"[{apiGroups: ['[']}]\"":                                     `"[" is no pattern`,
		"resource.customizations.helth.Pod: x":                                              `did you mean "health"?`,
		"resource.customizations.ignoreDifferences.Pod: 'jsonPointers: [spec]'":             "a JSON pointer begins with /",
		"resource.customizations.ignoreDifferences.all: 'jqPathExpressions: [\".[\"]'":      "is no path of jq",
		"resource.customizations.actions.Pod: 'definitions: [{name: x}]'":                   `action.lua`,
		"resource.customizations: \"{Pod: {health.lua: x, healthy: y}}\"":                   `Pod.healthy: unknown key "healthy"`,
		"resource.customizations: \"{Pod: {health.lua: x, health.lua.useOpenLibs: true}}\"": "there are no other libraries",
		"controller.diff.server.side: 'false'":                                              "always by a dry run",
		"cluster.inClusterEnabled: maybe":                                                   "want true or false",
		"health.generic: some":                                                              "want true or false",
		"health.generic: 'false'":                                                           "",
		"kustomize.buildOptions: --enable-helm":                                             "agents don't go by kustomize.buildOptions yet",
		"resource.customizations.health.apps_Deployment: return nil":                        "",
		"resource.customizations.ignoreResourceUpdates.all: 'jsonPointers: [/status]'":      "",
	} {
		docs, report := yamldoc.Parse("cm.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n  "+text+"\n"))
		argo.ReadConfigMap(document.New(report.Resolved()), yamldoc.Sub(docs[0], ""), &argo.Values{})
		got := fmt.Sprint(report.Findings())
		if want == "" && len(report.Findings()) > 0 || !strings.Contains(got, want) || want != "" && !strings.Contains(got, "cm.yaml:5:") {
			t.Errorf("%s gave %s; want %q", text, got, want)
		}
	}
}

// TestReadSettings: either notation of what is said of kinds says the same.
func TestReadSettings(t *testing.T) {
	t.Parallel()
	poll := time.Minute
	got := argo.ReadSettings(map[string]string{
		"resource.customizations": "apps/Deployment:\n  health.lua: return 1\n'*.example.com/*':\n  ignoreDifferences: |\n    jsonPointers: [/spec]\n" +
			"  actions: |\n    discovery.lua: return {}\n    mergeBuiltinActions: true\n    definitions: [{name: a, action.lua: return obj}]\n",
		"resource.customizations.health.cert-manager.io_Certificate": "return 2", "resource.customizations.ignoreDifferences.all": "managedFieldsManagers: [hpa]",
		"timeout.reconciliation": "60s", "timeout.reconciliation.jitter": "no", "resource.exclusions": "[{apiGroups: ['*.io'], kinds: [A], clusters: [https://*]}]",
		"resource.compareoptions": "ignoreResourceStatusField: crd\nignoreAggregatedRoles: true", "kustomize.buildOptions": "x", "health.generic": "false",
	})
	want := settings.Settings{
		Kinds: []settings.Kind{
			{Group: "apps", Kind: "Deployment", Health: "return 1"},
			{Group: "*.example.com", Kind: "*", Actions: &settings.Actions{Discovery: "return {}", Builtin: true, Definitions: []settings.Action{{Name: "a", Lua: "return obj"}}}},
			{Group: "cert-manager.io", Kind: "Certificate", Health: "return 2"},
		},
		Ignored: []gitops.IgnoreRule{
			{Group: "*.example.com", Kind: "*", JSONPointers: []string{"/spec"}}, {Group: "*", Kind: "*", ManagedFieldsManagers: []string{"hpa"}},
		},
		Status: "crd", NoGenericHealth: true, AggregatedRoles: true, Poll: &poll, Exclusions: []settings.Filter{{APIGroups: []string{"*.io"}, Kinds: []string{"A"}, Clusters: []string{"https://*"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for what, excluded := range map[[3]string]bool{
		{"x.io", "A", "https://a.example.com:6443"}: true, {"x.io", "B", "https://a"}: false, {"apps", "A", "https://a"}: false, {"x.io", "A", "http://a"}: false,
	} {
		if got.Excluded(what[0], what[1], what[2]) != excluded {
			t.Errorf("%v: want excluded %t", what, excluded)
		}
	}
	has := func(k *settings.Kind) bool { return k.Health != "" || k.Actions != nil }
	if got.Of("a.example.com", "B", has) == nil || got.Of("apps", "StatefulSet", has) != nil {
		t.Error("the patterns of kinds fit others")
	}
}
