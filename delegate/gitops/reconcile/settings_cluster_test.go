package reconcile

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/look"
	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// paint is an action that somebody wrote: it changes the object, and makes another.
const paint = `
discovery.lua: |
  return {paint = {params = {{name = "color"}}}, blank = {disabled = obj.data.color == nil}, undefined = {}}
mergeBuiltinActions: false
definitions:
- name: paint
  action.lua: |
    obj.data.color = actionParams.color
    local copy = {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "was", namespace = obj.metadata.namespace}, data = {a = obj.data.a}}
    return {{operation = "patch", resource = obj}, {operation = "create", resource = copy}}
- name: blank
  action.lua: |
    obj.metadata.name = "another"
    return obj
`

// Agents go by settings: how objects fare, what of them doesn't count, which are left
// alone, and what can be done to them.
func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(data map[string]string) {
		w.docs.Settings = argo.ReadSettings(data)
		w.docs.Scripts = script.NewKinds(w.docs.Settings)
		if w.Reconciler != nil {
			w.SetDocuments(w.docs)
		}
	}
	fares := func(what string, code gitops.HealthCode, message string) {
		t.Helper()
		w.until("web", what, func(s gitops.ApplicationStatus) bool {
			return slices.ContainsFunc(s.Resources, func(r gitops.ResourceStatus) bool {
				return r.Key.Name == "a" && r.Health != nil && r.Health.Status == code && strings.Contains(r.Health.Message, message)
			})
		})
	}
	commit := w.git.Commit(map[string]string{
		"web/a.yaml": configMap("a", "one"), "web/s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n",
	})
	health := "resource.customizations.health.ConfigMap"
	set(map[string]string{health: `if obj.data.a == "one" then return {status = "Degraded", message = "it is one"} end; return {status = "Healthy"}`})
	w.save(w.app("web", automated))
	w.start()
	w.synced("web", commit)
	fares("judged by a script", gitops.Degraded, "it is one")

	rules := map[string]string{
		health: `return {status = "Suspended"}`, "resource.customizations": "ConfigMap:\n  ignoreDifferences: |\n    jsonPointers: [/data/a]\n",
		"resource.customizations.actions.ConfigMap": paint, "resource.exclusions": "[{apiGroups: [''], kinds: [Service], clusters: ['*']}]",
	}
	set(rules)
	fares("judged by another script", gitops.Suspended, "")
	s := w.until("web", "without its Service", func(s gitops.ApplicationStatus) bool {
		return len(s.Resources) == 1 && slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool { return c.Type == gitops.ConditionExcludedResource })
	})
	if s.Sync.Status != gitops.Synced {
		t.Errorf("it is %s", show(s))
	}
	if o, err := w.cluster.Get(t.Context(), applying.Named(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, object.Key{Kind: "Service", Namespace: w.namespace, Name: "s"})); o == nil || err != nil {
		t.Errorf("what is left alone was deleted: %v", err)
	}

	v, err := w.Visit(t.Context(), Key{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	diffs := func() int {
		t.Helper()
		now, err := w.Visit(t.Context(), Key{Name: "web"})
		if err != nil {
			t.Fatal(err)
		}
		all, err := now.Differences(t.Context(), protocol.Look{})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	with := look.Acting{Cluster: v.Cluster, Scripts: v.Scripts(), Allowed: v.Allowed}
	o, err := w.cluster.Get(t.Context(), w.configMap("a"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := look.Actions(t.Context(), with.Scripts, o)
	if err != nil || len(all) != 2 || all[0].Name != "blank" || !all[0].Disabled || all[1].Name != "paint" || !slices.Equal(all[1].Parameters, []string{"color"}) {
		t.Errorf("the actions are %+v, %v", all, err)
	}
	if err := look.Act(t.Context(), with, o, protocol.Touch{Action: "paint", Parameters: map[string]string{"color": "red"}}); err != nil {
		t.Fatal(err)
	}
	if w.data("a", "color") != "red" || w.data("a", "a") != "one" || w.data("was", "a") != "one" {
		t.Errorf("the action made %q and %q", w.data("a", "color"), w.data("was", "a"))
	}
	if n := diffs(); n != 0 {
		t.Errorf("what an action has set is %d differences", n)
	}
	if o, err = w.cluster.Get(t.Context(), w.configMap("a")); err != nil {
		t.Fatal(err)
	}
	if err := look.Act(t.Context(), with, o, protocol.Touch{Action: "blank"}); err == nil || !strings.Contains(err.Error(), "it may change ConfigMap a alone") {
		t.Errorf("a script that changes another object gave %v", err)
	}
	if err := look.Act(t.Context(), with, o, protocol.Touch{Action: "undefined"}); err == nil || !strings.Contains(err.Error(), "there are: blank, paint") {
		t.Errorf("an action without a script gave %v", err)
	}

	delete(rules, "resource.exclusions")
	set(rules)
	w.until("web", "with its Service again", func(s gitops.ApplicationStatus) bool { return len(s.Resources) == 2 && s.Sync.Status == gitops.Synced })
	set(map[string]string{"cluster.inClusterEnabled": "false"})
	w.until("web", "kept out of the agent's cluster", func(s gitops.ApplicationStatus) bool {
		return slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool { return strings.Contains(c.Message, "cluster.inClusterEnabled") })
	})
}
