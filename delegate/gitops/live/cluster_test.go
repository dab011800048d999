package live

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/applying/applyingtest"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// site is a namespace of a real cluster, whose name is an agent's, too: what one
// test applies no other sees.
type site struct {
	*applying.Cluster

	namespace string
}

func newSite(tb testing.TB) *site {
	tb.Helper()
	c, _, namespace := applyingtest.Connect(tb)
	return &site{c, namespace}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// object reads a manifest and marks it as an application's.
func (s *site) object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	o := &unstructured.Unstructured{Object: parsed(tb, text)}
	if m, err := s.Mapping(o.GroupVersionKind()); err == nil && m.Scope.Name() == "namespace" {
		o.SetNamespace(s.namespace)
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[object.LabelAgent] = s.namespace
	o.SetLabels(labels)
	notes := o.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[object.AnnotationTracking] = object.TrackingID("shop", keyOf(o))
	o.SetAnnotations(notes)
	return o
}

func parsed(tb testing.TB, text string) map[string]any {
	tb.Helper()
	doc, err := yaml.YAMLToJSON([]byte(text))
	check(tb, err)
	out, err := manifest.Decode(string(doc))
	check(tb, err)
	return out
}

func keyOf(o *unstructured.Unstructured) object.Key {
	return object.Key{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

func groupKind(o *unstructured.Unstructured) schema.GroupKind {
	return o.GroupVersionKind().GroupKind()
}

// way is how the objects of applications are applied.
func way() applying.Way { return applying.Way{Manager: object.Manager, From: applying.Predecessors()} }

func (s *site) apply(tb testing.TB, o *unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	live, err := s.Apply(tb.Context(), o, way(), io.Discard)
	check(tb, err)
	return live
}

// edit is what somebody else does to an object.
func (s *site) edit(tb testing.TB, o *unstructured.Unstructured, by, patch string) *unstructured.Unstructured {
	tb.Helper()
	live, err := s.Patch(tb.Context(), o, types.MergePatchType, []byte(patch), by)
	check(tb, err)
	return live
}

func (s *site) read(tb testing.TB, o *unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	live, err := s.Get(tb.Context(), o)
	check(tb, err)
	if live == nil {
		tb.Fatalf("%s isn't there", keyOf(o))
	}
	return live
}

// observer is a watcher and what it tells.
type observer struct {
	*Watcher

	events chan Event
}

// watch has a watcher see what a test applies of some kinds.
func (s *site) watch(tb testing.TB, kinds ...schema.GroupKind) *observer {
	tb.Helper()
	w := &observer{events: make(chan Event, 10_000)}
	var err error
	w.Watcher, err = New(Config{
		Cluster: s.Cluster, Agent: s.namespace, Log: slog.New(slog.NewTextHandler(tb.Output(), nil)),
		HasHealth: func(gk schema.GroupKind) bool { return gk.Kind == "Deployment" },
		Judge: func(o *unstructured.Unstructured) *gitops.HealthStatus {
			wanted, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			if ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas"); ready < wanted {
				return &gitops.HealthStatus{Status: gitops.Progressing}
			}
			return &gitops.HealthStatus{Status: gitops.Healthy}
		},
		Changed: func(e Event) { w.events <- e },
	})
	check(tb, err)
	ctx, stop := context.WithCancel(tb.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx) // the context's end
	}()
	tb.Cleanup(func() { stop(); <-done })
	check(tb, w.Want(tb.Context(), kinds, kinds))
	return w
}

// until takes events until one is as it is waited for, and gives that.
func (w *observer) until(tb testing.TB, is func(Event) bool) Event {
	tb.Helper()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		select {
		case e := <-w.events:
			if is(e) {
				return e
			}
		case <-late.C:
			tb.Fatal("the event hasn't come")
		}
	}
}

// quiet takes the events that are there.
func (w *observer) quiet() []Event {
	var out []Event
	for {
		select {
		case e := <-w.events:
			out = append(out, e)
		default:
			return out
		}
	}
}

// normal is an object without what the server alone writes.
func normal(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy().Object
	for _, key := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(out, "metadata", key)
	}
	delete(out, "status")
	return out
}

// owners lists who owns fields of an object by which operation.
func owners(o *unstructured.Unstructured) []string {
	var out []string
	for _, f := range o.GetManagedFields() {
		out = append(out, f.Manager+" "+string(f.Operation)+" "+f.Subresource)
	}
	slices.Sort(out)
	return out
}

var kindConfigMap = schema.GroupKind{Kind: "ConfigMap"}

var _ metav1.Object = (*slim)(nil)
