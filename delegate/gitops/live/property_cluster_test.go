package live

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

var (
	edits = flag.Int("edits", 80, "how many foreign edits TestOwnershipIsTheTruth makes of each kind")
	seed  = flag.Uint64("seed", 1, "what they are chosen by")
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: main, image: "nginx:1", env: [{name: A, value: "1"}, {name: B, value: "2"}], ports: [{containerPort: 443}, {containerPort: 80}]}
        - {name: beside, image: "envoy:1"}
`

const service = `
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {note: x}, finalizers: [test.example.com/a, test.example.com/b]}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: https, port: 443, targetPort: 8443}]
`

// foreign is one edit of somebody else's. What it is of is a value below a path,
// nil to remove it.
type foreign struct {
	by          string
	kind        types.PatchType
	path        []any // names of fields; the key of a list's item is a map
	value       any
	subresource string
}

// places are what edits of a kind may touch, with values to set there. The first
// value of each is ours, if we set it.
type places []struct {
	path   []any
	values []any
}

func (p places) random(r *rand.Rand, kinds []types.PatchType) foreign {
	at := p[r.IntN(len(p))]
	f := foreign{
		by: []string{"alice", "bob", "carol", object.Manager}[r.IntN(4)], kind: kinds[r.IntN(len(kinds))], path: at.path,
	}
	if f.kind == types.ApplyPatchType && f.by == object.Manager {
		f.by = "dave" // our own apply isn't foreign
	}
	if n := r.IntN(len(at.values) + 1); n < len(at.values) {
		f.value = at.values[n]
	}
	return f
}

// body is the edit as a merge, strategic or apply patch of an object.
func (f foreign) body(o *unstructured.Unstructured) map[string]any {
	value := f.value
	for i := len(f.path) - 1; i >= 0; i-- {
		switch at := f.path[i].(type) {
		case string:
			value = map[string]any{at: value}
		case map[string]any: // an item of a list, by its key
			item := map[string]any{}
			for k, v := range at {
				item[k] = v
			}
			if inner, ok := value.(map[string]any); ok {
				for k, v := range inner {
					item[k] = v
				}
			}
			value = []any{item}
		}
	}
	out, _ := value.(map[string]any)
	if f.kind == types.ApplyPatchType {
		out["apiVersion"], out["kind"] = o.GetAPIVersion(), o.GetKind()
		meta, _ := out["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
			out["metadata"] = meta
		}
		meta["name"] = o.GetName()
	}
	return out
}

// do makes the edit; what the server refuses is none.
func (s *site) do(t *testing.T, o *unstructured.Unstructured, f foreign) {
	t.Helper()
	res, err := s.Resource(o)
	check(t, err)
	opts := metav1.PatchOptions{FieldManager: f.by}
	var doc []byte
	switch f.kind {
	case types.JSONPatchType:
		op := map[string]any{"op": "add", "path": "/" + pointer(f.path), "value": f.value}
		if f.value == nil {
			op = map[string]any{"op": "remove", "path": "/" + pointer(f.path)}
		}
		doc, err = json.Marshal([]any{op})
	case types.ApplyPatchType:
		force := true
		opts.Force = &force
		doc, err = json.Marshal(f.body(o))
	default:
		doc, err = json.Marshal(f.body(o))
	}
	check(t, err)
	var sub []string
	if f.subresource != "" {
		sub = []string{f.subresource}
	}
	_, err = res.Patch(t.Context(), o.GetName(), f.kind, doc, opts, sub...)
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsConflict(err) && !apierrors.IsInternalError(err) {
		t.Fatalf("%+v: %v", f, err)
	}
}

func pointer(path []any) string {
	out := ""
	for i, at := range path {
		if i > 0 {
			out += "/"
		}
		switch at := at.(type) {
		case string:
			for _, c := range at {
				switch c {
				case '/':
					out += "~1"
				case '~':
					out += "~0"
				default:
					out += string(c)
				}
			}
		default:
			out += "0"
		}
	}
	return out
}

// semantics/gitops §6: whatever others do to an object, our own entry's hash moves
// if applying it again would change it. What moves it besides is told.
func TestOwnershipIsTheTruth(t *testing.T) {
	t.Parallel()
	merge := []types.PatchType{types.MergePatchType, types.JSONPatchType, types.ApplyPatchType}
	all := append([]types.PatchType{types.StrategicMergePatchType}, merge...)
	meta := places{
		{[]any{"metadata", "labels", "app"}, []any{"web", "other"}},
		{[]any{"metadata", "labels", "foreign"}, []any{"x", "y"}},
		{[]any{"metadata", "annotations", "note"}, []any{"x", "y"}},
		{[]any{"metadata", "annotations", object.AnnotationTracking}, []any{"another:/ConfigMap:a/b"}},
	}
	main := map[string]any{"name": "main"}
	for _, tt := range []struct {
		name   string
		target string
		places places
		kinds  []types.PatchType
		more   []foreign // of which one is made now and then
	}{
		{"ConfigMap", settings, append(meta, places{
			{[]any{"data", "a"}, []any{"1", "other", "<&>"}}, {[]any{"data", "c"}, []any{"3"}}, {[]any{"data"}, []any{map[string]any{"a": "1", "b": "2"}, map[string]any{"z": "1"}}},
			{[]any{"immutable"}, []any{false}},
		}...), all, []foreign{{by: "alice", kind: types.MergePatchType, path: []any{"metadata", "managedFields"}, value: []any{map[string]any{}}}}},
		{"Service", service, append(meta, places{
			{[]any{"spec", "selector", "app"}, []any{"web", "other"}}, {[]any{"spec", "sessionAffinity"}, []any{"None", "ClientIP"}},
			{[]any{"spec", "ports"}, []any{
				[]any{map[string]any{"name": "http", "port": int64(80), "targetPort": int64(8080)}, map[string]any{"name": "https", "port": int64(443), "targetPort": int64(8443)}},
				[]any{map[string]any{"name": "http", "port": int64(80), "targetPort": int64(9090)}, map[string]any{"name": "https", "port": int64(443)}},
				[]any{map[string]any{"name": "third", "port": int64(81)}},
			}},
			{[]any{"metadata", "finalizers"}, []any{[]any{"test.example.com/a", "test.example.com/b"}, []any{"test.example.com/b"}, []any{"test.example.com/a", "test.example.com/c"}}},
			{[]any{"spec", "type"}, []any{"ClusterIP", "NodePort"}},
		}...), all, nil},
		{"Deployment", deployment, append(meta, places{
			{[]any{"spec", "replicas"}, []any{int64(2), int64(1), int64(3)}},
			{[]any{"spec", "paused"}, []any{true, false}},
			{[]any{"spec", "template", "spec", "containers", main, "image"}, []any{"nginx:1", "nginx:2"}},
			{[]any{"spec", "template", "spec", "containers", main, "env"}, []any{[]any{map[string]any{"name": "A", "value": "1"}}, []any{map[string]any{"name": "A", "value": "2"}}, []any{map[string]any{"name": "C", "value": "3"}}}},
			{[]any{"spec", "template", "metadata", "labels", "foreign"}, []any{"x"}},
		}...), all, []foreign{
			{by: "kube-controller-manager", kind: types.MergePatchType, path: []any{"spec", "replicas"}, value: int64(4), subresource: "scale"},
			{by: "kube-controller-manager", kind: types.MergePatchType, path: []any{"spec", "replicas"}, value: int64(2), subresource: "scale"},
			{by: "alice", kind: types.MergePatchType, path: []any{"status", "replicas"}, value: int64(7), subresource: "status"},
		}},
		{"a custom resource", "spec: {size: 3, loose: {a: 1, list: [1, 2]}, ports: [{port: 443, of: a}, {port: 80, of: b}], set: [80, 443]}\n", append(meta, places{
			{[]any{"spec", "size"}, []any{int64(3), int64(4)}}, {[]any{"spec", "loose", "a"}, []any{int64(1), "text"}}, {[]any{"spec", "loose", "b"}, []any{int64(1)}},
			{[]any{"spec", "loose", "list"}, []any{[]any{int64(1), int64(2)}, []any{int64(2)}}}, {[]any{"spec", "set"}, []any{[]any{int64(80), int64(443)}, []any{int64(443), int64(80), int64(8080)}, []any{int64(443)}}},
			{[]any{"spec", "ports"}, []any{[]any{map[string]any{"port": int64(443), "of": "a"}, map[string]any{"port": int64(80), "of": "b"}}, []any{map[string]any{"port": int64(80), "of": "c"}}}},
		}...), merge, []foreign{
			{by: "bob", kind: types.MergePatchType, path: []any{"status", "phase"}, value: "Ready", subresource: "status"},
			{by: "bob", kind: types.MergePatchType, path: []any{"spec", "size"}, value: int64(9), subresource: "scale"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if tt.name == "a custom resource" {
				gk := schema.GroupKind{Group: s.namespace + ".example.com", Kind: "Widget"}
				s.define(t, gk)
				tt.target = "apiVersion: " + gk.Group + "/v1\nkind: Widget\nmetadata: {name: w, labels: {app: web}}\n" + tt.target
			}
			s.judge(t, s.object(t, tt.target), func(r *rand.Rand) foreign {
				if len(tt.more) > 0 && r.IntN(8) == 0 {
					return tt.more[r.IntN(len(tt.more))]
				}
				return tt.places.random(r, tt.kinds)
			})
		})
	}
}

// judge edits an object and compares, after each edit, what its hash says with
// what the server says would change.
func (s *site) judge(t *testing.T, target *unstructured.Unstructured, next func(*rand.Rand) foreign) {
	t.Helper()
	r := rand.New(rand.NewPCG(*seed, 0))
	w := s.watch(t, groupKind(target))
	first := OwnHash(s.apply(t, target))
	both, none, alarms, moved := 0, 0, 0, 0
	for i := range *edits {
		f := next(r)
		s.do(t, target, f)
		live, after := s.verdict(t, target)
		fast, slow := OwnHash(live) != first, gocmp.Diff(normal(live), normal(after))
		what := fmt.Sprintf("edit %d, %+v", i, f)
		switch {
		case slow != "" && !fast && gocmp.Equal(unordered(normal(live)), unordered(normal(after))):
			moved++ // nobody owns the order of a list whose items have owners
			s.apply(t, target)
			continue
		case slow != "" && !fast:
			t.Errorf("%s: missed; applying would change (-live +applied):\n%s\nowners %q", what, slow, owners(live))
			s.apply(t, target)
			continue
		case slow != "":
			both++
		case !fast:
			none++
			continue
		default:
			alarms++
		}
		w.until(t, func(e Event) bool { return e.After != nil && e.After.Own == OwnHash(live) })
		if healed := s.apply(t, target); OwnHash(healed) != first {
			t.Fatalf("%s: applied again the hash is %x, owners %q; want that of the first time", what, OwnHash(healed), owners(healed))
		}
		w.until(t, func(e Event) bool { return e.After != nil && e.After.Own == first })
	}
	t.Logf("%d edits: drift by both %d, none by both %d, false alarms %d, another order %d", *edits, both, none, alarms, moved)
	if both == 0 || none == 0 {
		t.Error("the edits are no trial")
	}
}

// unordered is a value whose lists are in one order.
func unordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			out[name] = unordered(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = unordered(item)
		}
		slices.SortFunc(out, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return out
	}
	return v
}

// verdict is an object, and what applying it would make of it at once: a
// controller may write in between.
func (s *site) verdict(t *testing.T, target *unstructured.Unstructured) (live, after *unstructured.Unstructured) {
	t.Helper()
	dry := way()
	dry.DryRun = true
	for {
		live = s.read(t, target)
		after, err := s.Apply(t.Context(), target, dry, io.Discard)
		check(t, err)
		if s.read(t, target).GetResourceVersion() == live.GetResourceVersion() {
			return live, after
		}
	}
}

// definition is that of a kind, with everything in it that makes ownership odd.
func (s *site) definition(gk schema.GroupKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion("apiextensions.k8s.io/v1")
	o.SetKind("CustomResourceDefinition")
	o.SetName("widgets." + gk.Group)
	return o
}

// define makes a kind and waits until it is served.
func (s *site) define(t *testing.T, gk schema.GroupKind) {
	t.Helper()
	o := s.definition(gk)
	o.Object["spec"] = parsed(t, `
group: `+gk.Group+`
names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
scope: Namespaced
versions:
  - &version
    name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              loose: {type: object, x-kubernetes-preserve-unknown-fields: true}
              set: {type: array, items: {type: integer}, x-kubernetes-list-type: set}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port]
                items: {type: object, required: [port], properties: {port: {type: integer}, of: {type: string}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - {<<: *version, name: v2, storage: false}
`)
	_, err := s.Create(t.Context(), o, "test")
	check(t, err)
	t.Cleanup(func() {
		// Its objects' namespace may be kept; the definition is everybody's.
		_ = s.Dynamic.Resource(definitions()[0]).Delete(context.WithoutCancel(t.Context()), o.GetName(), metav1.DeleteOptions{})
	})
	check(t, s.Watch(t.Context(), o, func(live *unstructured.Unstructured) (bool, error) {
		all, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		for _, c := range all {
			if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	}))
	for {
		if _, err := s.Mapping(schema.GroupVersionKind{Group: gk.Group, Version: "v1", Kind: gk.Kind}); err == nil {
			return
		}
		check(t, t.Context().Err())
	}
}
