package reconcile

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// TestChartsKnowTheCluster: a chart asks for the version and the kinds of the cluster
// that it goes to, and is rendered anew when these are others.
func TestChartsKnowTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	revision := w.git.Commit(map[string]string{
		"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: \">=1.25.0-0\"\n",
		"web/templates/a.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  version: {{ .Capabilities.KubeVersion.Version | quote }}
  jobs: {{ .Capabilities.APIVersions.Has "batch/v1/CronJob" | quote }}
  gadgets: {{ .Capabilities.APIVersions.Has "` + group + `/v1/Gadget" | quote }}
`,
		"kinds/gadgets.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.` + group + `}
spec:
  group: ` + group + `
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`,
	})
	t.Cleanup(func() {
		k := object.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "gadgets." + group}
		bare := applying.Named(schema.GroupVersionKind{Group: k.Group, Version: "v1", Kind: k.Kind}, k)
		if _, err := w.cluster.Delete(context.WithoutCancel(t.Context()), bare, applying.Deletion{}); err != nil {
			t.Error(err)
		}
	})
	web := w.app("web", automated)
	w.save(web)
	w.start()
	w.synced("web", revision)
	server, err := w.cluster.Kinds.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if got := w.data("web", "version"); got != server.GitVersion || !strings.HasPrefix(got, "v1.") {
		t.Errorf("the chart sees version %q; want the cluster's, %s", got, server.GitVersion)
	}
	if jobs, gadgets := w.data("web", "jobs"), w.data("web", "gadgets"); jobs != "true" || gadgets != "false" {
		t.Errorf("the chart sees CronJobs: %s, Gadgets: %s; want true and false", jobs, gadgets)
	}

	w.save(web, w.app("kinds", automated))
	w.synced("kinds", revision)
	over := time.After(patience)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for w.data("web", "gadgets") != "true" { // the server tells of new kinds a little later
		if err := w.Refresh(Key{Name: "web"}, true); err != nil {
			t.Fatal(err)
		}
		select {
		case <-again.C:
		case <-over:
			t.Fatalf("the chart isn't rendered for the new kind within %s", patience)
		}
	}
}
