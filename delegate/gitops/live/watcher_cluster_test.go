package live

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

const settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {tier: front}}
data: {a: "1", b: "2"}
`

// semantics/gitops §6: what others do to a field of ours is seen, what they do
// besides is not.
func TestWhatOthersDo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.watch(t, kindConfigMap)
	o := s.object(t, settings)
	first := OwnHash(s.apply(t, o))
	w.until(t, func(e Event) bool { return e.Before == nil && e.After.Own == first })
	for _, tt := range []struct {
		name, patch string
		drift       bool
	}{
		{"changes a field", `{"data":{"a":"other"}}`, true},
		{"removes a field", `{"data":{"a":null}}`, true},
		{"adds a field", `{"data":{"c":"3"}}`, false},
		{"sets the same", `{"data":{"a":"1"}}`, false},
		{"changes a label that we set", `{"metadata":{"labels":{"tier":"back"}}}`, true},
		{"sets another label", `{"metadata":{"labels":{"other":"x"}}}`, false},
		{"empties the managed fields", `{"metadata":{"managedFields":[{}]}}`, true},
	} {
		for _, by := range []string{"somebody", object.Manager} {
			live := s.edit(t, o, by, tt.patch)
			if moved := OwnHash(live) != first; moved != tt.drift {
				t.Errorf("%s, %s: the hash moved: %v; want %v", by, tt.name, moved, tt.drift)
			}
			if tt.drift {
				w.until(t, func(e Event) bool { return e.Key == keyOf(o) && e.After != nil && e.After.Own == OwnHash(live) })
				if healed := s.apply(t, o); OwnHash(healed) != first {
					t.Errorf("%s, %s: applied again the hash is %x, owners %q; want that of the first time", by, tt.name, OwnHash(healed), owners(healed))
				}
				w.until(t, func(e Event) bool { return e.Key == keyOf(o) && e.After != nil && e.After.Own == first })
			}
			for _, e := range w.quiet() {
				t.Errorf("%s, %s: told of %+v", by, tt.name, e)
			}
		}
	}
	// A field that the target drops goes also after the managed fields were emptied.
	delete(o.Object["data"].(map[string]any), "a")
	if live := s.apply(t, o); live.Object["data"].(map[string]any)["a"] != nil {
		t.Errorf("what is dropped stays: %v, owners %q", live.Object["data"], owners(live))
	}
}

// An object that loses our label goes from sight, and is told of as it is; one
// that is deleted is told of as gone.
func TestWhatGoesFromSight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.watch(t, kindConfigMap)
	o := s.object(t, settings)
	first := s.apply(t, o)
	w.until(t, func(e Event) bool { return e.After != nil })
	s.edit(t, o, "somebody", `{"metadata":{"labels":{"`+object.LabelAgent+`":null}}}`)
	e := w.until(t, func(e Event) bool { return e.After == nil })
	if e.Stray == nil || e.Stray.GetUID() != first.GetUID() || e.Before == nil {
		t.Fatalf("told of %+v; want what is there", e)
	}
	if _, there := w.Get(keyOf(o)); there {
		t.Error("it is still kept")
	}
	s.apply(t, o)
	w.until(t, func(e Event) bool {
		return e.After != nil && e.After.UID == first.GetUID() && e.After.Own == OwnHash(first)
	})
	if diff := cmp.Diff([]object.Key{keyOf(o)}, w.Of("shop")); diff != "" {
		t.Errorf("of the application (-want +got):\n%s", diff)
	}
	if there, err := s.Delete(t.Context(), o, applying.Deletion{UID: "another"}); err != nil || there {
		t.Fatalf("deleted what is somebody else's: %v, %v", there, err)
	}
	there, err := s.Delete(t.Context(), o, applying.Deletion{UID: first.GetUID(), Propagation: metav1.DeletePropagationForeground})
	if err != nil || !there {
		t.Fatalf("deleted: %v, %v", there, err)
	}
	if e := w.until(t, func(e Event) bool { return e.After == nil }); e.Stray != nil {
		t.Errorf("told of %+v; want it gone", e)
	}
	if len(w.Of("shop")) > 0 {
		t.Errorf("of the application: %v", w.Of("shop"))
	}
}

// A tracking id that is another object's, as copies have it, names no application.
func TestCopiedTrackingIDs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.watch(t, kindConfigMap)
	o := s.object(t, settings)
	o.SetName("copy")
	s.apply(t, o)
	e := w.until(t, func(e Event) bool { return e.After != nil })
	if e.After.App != "" || e.After.Tracking != o.GetAnnotations()[object.AnnotationTracking] || len(w.Of("shop")) > 0 {
		t.Errorf("it is %+v", e.After)
	}
}

// Of kinds with health the verdict is kept, and the generation that it is about.
func TestHealthIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.watch(t, schema.GroupKind{Group: "apps", Kind: "Deployment"})
	o := s.object(t, deployment)
	live := s.apply(t, o)
	e := w.until(t, func(e Event) bool {
		return e.After != nil && e.After.Health.Status == gitops.Healthy && e.After.Observed >= live.GetGeneration()
	})
	if e.After.Own != OwnHash(live) || e.After.App != "shop" {
		t.Errorf("it is %+v", e.After)
	}
	scale := `{"spec":{"replicas":1}}`
	res, err := s.Resource(o)
	check(t, err)
	_, err = res.Patch(t.Context(), o.GetName(), types.MergePatchType, []byte(scale), metav1.PatchOptions{FieldManager: "kube-controller-manager"}, "scale")
	check(t, err)
	w.until(t, func(e Event) bool { return e.After != nil && e.After.Own != OwnHash(live) })
}

// Kinds are watched when their definition comes, and forgotten when it goes or
// nobody wants them any more.
func TestKindsComeAndGo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gk := schema.GroupKind{Group: s.namespace + ".example.com", Kind: "Widget"}
	w := s.watch(t, kindConfigMap, gk)
	if w.Known(gk) || !w.Known(kindConfigMap) {
		t.Fatalf("known: %v and %v", w.Known(gk), w.Known(kindConfigMap))
	}
	s.define(t, gk)
	live := s.apply(t, s.object(t, "apiVersion: "+gk.Group+"/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}"))
	e := w.until(t, func(e Event) bool { return e.After != nil && e.Key.Kind == "Widget" })
	if e.After.Own != OwnHash(live) || e.After.App != "shop" {
		t.Errorf("it is %+v; want the hash %x", e.After, OwnHash(live))
	}
	check(t, w.Want(t.Context(), []schema.GroupKind{gk}, []schema.GroupKind{gk}))
	if w.Known(kindConfigMap) {
		t.Error("ConfigMaps are still watched")
	}
	if !w.Known(gk) || len(w.Of("shop")) != 1 {
		t.Errorf("the application has %v", w.Of("shop"))
	}
	definition := s.definition(gk)
	if _, err := s.Delete(t.Context(), definition, applying.Deletion{}); err != nil {
		t.Fatal(err)
	}
	w.until(t, func(e Event) bool { return e.After == nil && e.Key.Kind == "Widget" })
}

// The hash is the same whichever version of its kind an object is read in, and
// stays when the kind's storage version moves; what is changed through another
// version is seen.
func TestVersionsOfAKind(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gk := schema.GroupKind{Group: s.namespace + ".example.com", Kind: "Widget"}
	s.define(t, gk)
	w := s.watch(t, gk)
	o := s.object(t, "apiVersion: "+gk.Group+"/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3, set: [443, 80, 8080], ports: [{port: 443}, {port: 80}]}")
	first := OwnHash(s.apply(t, o))
	newer := o.DeepCopy()
	newer.SetAPIVersion(gk.Group + "/v2")
	res, err := s.Resource(s.definition(gk))
	check(t, err)
	_, err = res.Patch(t.Context(), s.definition(gk).GetName(), types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`), metav1.PatchOptions{})
	check(t, err)
	if got := OwnHash(s.read(t, newer)); got != first {
		t.Errorf("read as v2 the hash is %x; want %x", got, first)
	}
	if got := OwnHash(s.edit(t, newer, "somebody", `{"spec":{"loose":{"a":1}}}`)); got != first {
		t.Errorf("with another's field set through v2 the hash is %x; want %x", got, first)
	}
	if got := OwnHash(s.edit(t, newer, "somebody", `{"spec":{"size":4}}`)); got == first {
		t.Error("what was changed through v2 isn't seen")
	}
	w.until(t, func(e Event) bool { return e.Before != nil && e.After != nil && e.After.Own != first })
	if got := OwnHash(s.apply(t, o)); got != first {
		t.Errorf("applied again the hash is %x; want %x", got, first)
	}
	w.until(t, func(e Event) bool { return e.After != nil && e.After.Own == first })
}

// Where admission forces one of our fields and adds another, the server does so at
// each apply: that is no drift, and what others change still is.
func TestAdmissionIsNoDrift(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, text := range []string{`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration: {expression: 'Object{data: {"a": "forced", "injected": "x"}}'}
`, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
`} {
		o := &unstructured.Unstructured{Object: parsed(t, strings.ReplaceAll(text, "NAME", s.namespace))}
		_, err := s.Create(t.Context(), o, "test")
		check(t, err)
		t.Cleanup(func() {
			_, _ = s.Delete(context.WithoutCancel(t.Context()), o, applying.Deletion{}) // the namespace goes as well
		})
	}
	o := s.object(t, settings)
	dry := way()
	dry.DryRun = true
	for { // until the server goes by the policy
		after, err := s.Apply(t.Context(), o, dry, io.Discard)
		check(t, err)
		if after.Object["data"].(map[string]any)["injected"] == "x" {
			break
		}
	}
	first := s.apply(t, o)
	for range 3 {
		if again := s.apply(t, o); OwnHash(again) != OwnHash(first) || again.GetResourceVersion() != first.GetResourceVersion() {
			t.Errorf("applied again it is at %s with %x; want %s with %x", again.GetResourceVersion(), OwnHash(again), first.GetResourceVersion(), OwnHash(first))
		}
	}
	if live, after := s.verdict(t, o); !cmp.Equal(normal(live), normal(after)) {
		t.Errorf("the server would change (-live +applied):\n%s", cmp.Diff(normal(live), normal(after)))
	}
	if changed := s.edit(t, o, "somebody", `{"data":{"b":"other"}}`); OwnHash(changed) == OwnHash(first) {
		t.Error("what somebody else changed isn't seen")
	}
	if healed := s.apply(t, o); OwnHash(healed) != OwnHash(first) {
		t.Errorf("applied again the hash is %x; want %x", OwnHash(healed), OwnHash(first))
	}
}

// An object that somebody made with kubectl, or Argo CD applied, is ours after the
// first apply, so that what the target drops then goes.
func TestAdoption(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, s *site, name string)
	}{
		{"made by kubectl apply", func(t *testing.T, s *site, name string) {
			t.Helper()
			o := s.object(t, settings)
			o.SetName(name)
			o.SetLabels(nil)
			_, err := s.Create(t.Context(), o, applying.ClientSide)
			check(t, err)
		}},
		{"applied by Argo CD", func(t *testing.T, s *site, name string) {
			t.Helper()
			o := s.object(t, settings)
			o.SetName(name)
			_, err := s.Apply(t.Context(), o, applying.Way{Manager: "argocd-controller"}, io.Discard)
			check(t, err)
		}},
		{"applied by Argo CD on the client and on the server", func(t *testing.T, s *site, name string) {
			t.Helper()
			o := s.object(t, settings)
			o.SetName(name)
			_, err := s.Create(t.Context(), o, "argocd-controller")
			check(t, err)
			o.Object["data"] = map[string]any{"b": "3"}
			_, err = s.Apply(t.Context(), o, applying.Way{Manager: "argocd-controller"}, io.Discard)
			check(t, err)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			tt.make(t, s, "adopted")
			o := s.object(t, settings)
			o.SetName("adopted")
			live := s.apply(t, o)
			if diff := cmp.Diff([]string{object.Manager + " Apply "}, owners(live)); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if again := s.apply(t, o); OwnHash(again) != OwnHash(live) || again.GetResourceVersion() != live.GetResourceVersion() {
				t.Errorf("applied again it is at %s with %x; want %s with %x", again.GetResourceVersion(), OwnHash(again), live.GetResourceVersion(), OwnHash(live))
			}
			o.Object["data"] = map[string]any{"b": "2"}
			live = s.apply(t, o)
			if diff := cmp.Diff(map[string]any{"b": "2"}, live.Object["data"]); diff != "" {
				t.Errorf("what is dropped stays (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("kept by somebody else, too", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		o := s.object(t, settings)
		first := s.apply(t, o)
		s.edit(t, o, "somebody", `{"data":{"a":"other"}}`)
		s.edit(t, o, "somebody", `{"data":{"a":"1"}}`)
		s.apply(t, o)
		o.Object["data"] = map[string]any{"b": "2"}
		live := s.apply(t, o)
		if data := live.Object["data"].(map[string]any); data["a"] != "1" {
			t.Errorf("what somebody else keeps has gone: %v", data)
		}
		if OwnHash(live) == OwnHash(first) {
			t.Error("the hash is that of other fields")
		}
	})
}

func TestReplace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.object(t, settings)
	made, err := s.Replace(t.Context(), o, object.Manager)
	check(t, err)
	s.edit(t, o, "somebody", `{"data":{"c":"3"}}`)
	live, err := s.Replace(t.Context(), o, object.Manager)
	check(t, err)
	if live.GetUID() != made.GetUID() || live.Object["data"].(map[string]any)["c"] != nil {
		t.Errorf("it is %v", live.Object)
	}
	o.SetResourceVersion(made.GetResourceVersion())
	if _, err := s.Replace(t.Context(), o, object.Manager); err == nil {
		t.Error("replaced a newer version")
	}
}
