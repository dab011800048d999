package live

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/task"
)

// many is a store of a kind and a list of objects for it, as a server shows them.
func many(tb testing.TB, objects int) (*store, []any) {
	tb.Helper()
	c, err := applying.Connect(task.Cluster{URL: "https://cluster.example.com"})
	check(tb, err)
	w, err := New(Config{
		Cluster: c, Agent: "00000000", HasHealth: func(schema.GroupKind) bool { return false }, Changed: func(Event) {},
		Judge: func(*unstructured.Unstructured) *gitops.HealthStatus { return nil }, Log: slog.New(slog.DiscardHandler),
	})
	check(tb, err)
	k := &kind{group: kindConfigMap, namespaced: true, objects: map[place]*entry{}, missing: 1}
	w.kinds[kindConfigMap] = k
	all := make([]any, objects)
	for i := range all {
		name := fmt.Sprintf("settings-of-service-%05d", i)
		key := object.Key{Kind: "ConfigMap", Namespace: fmt.Sprintf("namespace-%03d", i/100), Name: name}
		fields := &metav1.FieldsV1{}
		fields.SetRawBytes([]byte(`{"f:data":{"f:a":{},"f:b":{},"f:c":{}},"f:metadata":{"f:annotations":{"f:argocd.argoproj.io/tracking-id":{}},"f:labels":{"f:slipway.dev/gitops":{}}}}`))
		all[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: key.Namespace, UID: types.UID(fmt.Sprintf("%08d-0000-0000-0000-000000000000", i)), ResourceVersion: fmt.Sprint(1_000_000 + i),
			Labels: map[string]string{object.LabelAgent: "00000000"}, Annotations: map[string]string{object.AnnotationTracking: object.TrackingID(fmt.Sprintf("app-%04d", i/10), key)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: object.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsV1: fields}},
		}}
	}
	return &store{watcher: w, ctx: tb.Context(), kind: k}, all
}

// heap is what is held after everything else has been thrown away.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // texts that are shared are let go by a second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An object takes no more than 350 bytes. The test isn't parallel, so that it has
// the heap for itself.
//
//nolint:paralleltest // see above
func TestAnObjectTakesLittle(t *testing.T) {
	const objects, most = 10_000, 350
	s, _ := many(t, 0)
	before := heap()
	_, all := many(t, objects)
	check(t, s.Replace(all, "1"))
	clear(all)
	each := (int64(heap()) - int64(before)) / objects
	if each > most {
		t.Errorf("an object takes %d bytes; want at most %d", each, most)
	}
	t.Logf("an object takes %d bytes", each)
	if n := len(s.watcher.Of("app-0007")); n != 10 {
		t.Errorf("an application has %d objects", n)
	}
}

// BenchmarkNothingChanged looks at 10,000 objects of 1,000 applications.
func BenchmarkNothingChanged(b *testing.B) {
	s, all := many(b, 10_000)
	keys := make([]object.Key, len(all))
	for i, o := range all {
		m := o.(*metav1.PartialObjectMetadata)
		keys[i] = object.Key{Kind: "ConfigMap", Namespace: m.Namespace, Name: m.Name}
	}
	check(b, s.Replace(all, "1"))
	b.ReportAllocs()
	for b.Loop() {
		for _, k := range keys {
			if o, ok := s.watcher.Get(k); !ok || o.Own == 0 {
				b.Fatal("it isn't there")
			}
		}
	}
}

// BenchmarkList takes a list of 10,000 objects.
func BenchmarkList(b *testing.B) {
	s, all := many(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		check(b, s.Replace(all, "1"))
	}
}
