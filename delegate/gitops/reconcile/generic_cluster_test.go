package reconcile

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// TestHealthOfUnknownKinds: objects of a kind that somebody has defined fare as their
// controller says in their conditions, until that is switched off.
func TestHealthOfUnknownKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	revision := w.git.Commit(map[string]string{
		"web/widget.yaml": "apiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n",
		"web/widgets.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.` + group + `}
spec:
  group: ` + group + `
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`,
	})
	t.Cleanup(func() {
		k := object.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets." + group}
		bare := applying.Named(schema.GroupVersionKind{Group: k.Group, Version: "v1", Kind: k.Kind}, k)
		if _, err := w.cluster.Delete(context.WithoutCancel(t.Context()), bare, applying.Deletion{}); err != nil {
			t.Error(err)
		}
	})
	w.save(w.app("web", automated))
	w.start()
	w.synced("web", revision)
	fares := func(code gitops.HealthCode, message string) gitops.ApplicationStatus {
		t.Helper()
		return w.until("web", "with a widget that is "+string(code), func(s gitops.ApplicationStatus) bool {
			return slices.ContainsFunc(s.Resources, func(r gitops.ResourceStatus) bool {
				return r.Kind == "Widget" && (code == "" && r.Health == nil || r.Health != nil && r.Health.Status == code && strings.Contains(r.Health.Message, message))
			})
		})
	}
	says := func(status string) {
		t.Helper()
		gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
		_, err := w.cluster.Dynamic.Resource(gvr).Namespace(w.namespace).Patch(t.Context(), "w", types.MergePatchType, []byte(`{"status":`+status+`}`),
			metav1.PatchOptions{FieldManager: "controller"}, "status")
		if err != nil {
			t.Fatal(err)
		}
	}
	fares("", "") // its controller has said nothing
	says(`{"conditions":[{"type":"Ready","status":"False","message":"no room"}]}`)
	if s := fares(gitops.Progressing, "no room"); s.Health.Status != gitops.Progressing || s.Sync.Status != gitops.Synced {
		t.Errorf("the application is %s", show(s))
	}
	says(`{"conditions":[{"type":"Stalled","status":"True","message":"it is too big"}]}`)
	if s := fares(gitops.Degraded, "it is too big"); s.Health.Status != gitops.Degraded {
		t.Errorf("the application is %s", show(s))
	}
	w.docs.Settings = argo.ReadSettings(map[string]string{"health.generic": "false"})
	w.docs.Scripts = script.NewKinds(w.docs.Settings)
	w.SetDocuments(w.docs)
	if s := fares("", ""); s.Health.Status != gitops.Healthy {
		t.Errorf("the application is %s", show(s))
	}
	says(`{"conditions":[{"type":"Ready","status":"True"}]}`)
	w.docs.Settings = argo.ReadSettings(nil)
	w.docs.Scripts = script.NewKinds(w.docs.Settings)
	w.SetDocuments(w.docs)
	fares(gitops.Healthy, "")
}
