package live

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// kind is a kind that is watched. The watcher's lock guards it.
type kind struct {
	group      schema.GroupKind
	kind       schema.GroupVersionKind
	resource   schema.GroupVersionResource
	namespaced bool
	whole      bool // it has health
	stop       context.CancelFunc
	objects    map[place]*entry
	missing    int   // how many of its lists aren't in yet
	problem    error // why not
}

// errDropped is why a kind is watched no longer: it has gone, or nobody wants it.
var errDropped = errors.New("the kind isn't watched any more")

// start watches a kind: in the whole cluster, or in each namespace that may be
// seen. The lock is held.
func (w *Watcher) start(ctx context.Context, loops *sync.WaitGroup, gk schema.GroupKind, m *meta.RESTMapping) *kind {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(errDropped) }
	k := &kind{
		group: gk, kind: m.GroupVersionKind, resource: m.Resource, namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace,
		whole: w.cfg.HasHealth(gk), stop: stop, objects: map[place]*entry{},
	}
	namespaces := []string{""}
	if k.namespaced && len(w.cfg.Namespaces) > 0 {
		namespaces = w.cfg.Namespaces
	}
	k.missing = len(namespaces)
	for _, namespace := range namespaces {
		s := &store{watcher: w, ctx: ctx, kind: k, namespace: namespace}
		loops.Go(func() {
			follow(ctx, w.lister(k.resource, namespace, labels.Set{object.LabelAgent: w.cfg.Agent}.String(), k.whole), s, s.failed)
		})
	}
	return k
}

// The pauses between tries to list a kind.
const firstTry, longestTry = 200 * time.Millisecond, 30 * time.Second

// follow keeps a store as a list is, until the context ends, and tells of each try
// that failed. A watch that has become too old is begun anew, that of its kind
// alone.
func follow(ctx context.Context, list cache.ListerWatcher, to cache.ReflectorStore, failed func(error)) {
	r := cache.NewReflectorWithOptions(list, nil, to, cache.ReflectorOptions{Name: "gitops"})
	pause := firstTry
	for ctx.Err() == nil {
		began := time.Now()
		err := r.ListAndWatchWithContext(ctx)
		if err != nil && ctx.Err() == nil {
			failed(applying.Classify(err))
		}
		if time.Since(began) > longestTry {
			pause = firstTry
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longestTry)
	}
}

// lister lists and watches a kind: whole objects, or their metadata alone.
func (w *Watcher) lister(gvr schema.GroupVersionResource, namespace, selector string, whole bool) cache.ListerWatcher {
	list := &cache.ListWatch{}
	if whole {
		of := w.cfg.Cluster.Dynamic.Resource(gvr).Namespace(namespace)
		list.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return of.List(ctx, o)
		}
		list.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return of.Watch(ctx, o)
		}
		return list
	}
	of := w.meta.Resource(gvr).Namespace(namespace)
	list.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = selector
		return of.List(ctx, o)
	}
	list.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector = selector
		return of.Watch(ctx, o)
	}
	return list
}

// definitions are the objects that say which kinds there are.
func definitions() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	}
}

// watchDefinitions has kinds looked for again whenever a definition changes. Where
// definitions may not be seen, only those kinds are known that were there when they
// were asked for.
func (w *Watcher) watchDefinitions(ctx context.Context, gvr schema.GroupVersionResource) {
	follow(ctx, w.lister(gvr, "", "", false), changes{w.look}, func(err error) {
		w.cfg.Log.DebugContext(ctx, "definitions can't be watched", "resource", gvr.Resource, "error", err)
	})
}

// changes is a store that keeps nothing and tells that something has changed.
type changes struct{ look chan struct{} }

// Add tells of a definition.
func (c changes) Add(any) error { signal(c.look); return nil }

// Update tells of a definition.
func (c changes) Update(any) error { signal(c.look); return nil }

// Delete tells of a definition.
func (c changes) Delete(any) error { signal(c.look); return nil }

// Replace tells of all definitions.
func (c changes) Replace([]any, string) error { signal(c.look); return nil }

// Resync is nothing to it.
func (c changes) Resync() error { return nil }

// store puts what a reflector reads into its watcher.
type store struct {
	watcher   *Watcher
	ctx       context.Context //nolint:containedctx // the reflector's, whose store has none
	kind      *kind
	namespace string // empty: all
	listed    bool
}

// slim is an object of which only what is kept is left, in the form in which a
// reflector's own store takes it.
type slim struct {
	metav1.ObjectMeta

	kept Object
}

// GetObjectKind is asked for by who takes it for a whole object.
func (s *slim) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject is asked for likewise; nobody changes it.
func (s *slim) DeepCopyObject() runtime.Object { return s }

// Transformer has a reflector keep no more of a first list than is kept anyway.
func (s *store) Transformer() cache.TransformFunc {
	return func(o any) (any, error) { return s.slim(o) }
}

func (s *store) slim(o any) (*slim, error) {
	if already, ok := o.(*slim); ok {
		return already, nil
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return nil, err
	}
	out := &slim{}
	out.Namespace, out.Name, out.ResourceVersion = shared(m.GetNamespace()), m.GetName(), m.GetResourceVersion()
	key := object.Key{Group: s.kind.group.Group, Kind: s.kind.group.Kind, Namespace: out.Namespace, Name: out.Name}
	out.kept = objectOf(m, key, s.kind.namespaced)
	if u, ok := o.(*unstructured.Unstructured); ok {
		out.kept.Health = s.watcher.cfg.Judge(u)
		out.kept.Observed, _, _ = unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	}
	return out, nil
}

// Add keeps an object.
func (s *store) Add(o any) error { return s.Update(o) }

// Update keeps an object as it is now.
func (s *store) Update(o any) error {
	now, err := s.slim(o)
	if err != nil {
		return err
	}
	s.watcher.mu.Lock()
	if s.ctx.Err() != nil { // the kind was dropped meanwhile
		s.watcher.mu.Unlock()
		return nil
	}
	before := s.put(now)
	s.watcher.mu.Unlock()
	if before == nil || !before.same(&now.kept) {
		s.watcher.cfg.Changed(Event{Key: s.key(now), Before: before, After: &now.kept})
	}
	return nil
}

func (s *store) key(o *slim) object.Key {
	return object.Key{Group: s.kind.group.Group, Kind: s.kind.group.Kind, Namespace: o.Namespace, Name: o.Name}
}

// put keeps an object. The lock is held.
func (s *store) put(o *slim) (before *Object) {
	return s.watcher.put(s.kind, place{o.Namespace, o.Name}, &o.kept)
}

// Delete forgets an object, and finds out what has become of it.
func (s *store) Delete(o any) error {
	m, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	s.watcher.mu.Lock()
	e := s.kind.objects[place{m.GetNamespace(), m.GetName()}]
	if e != nil {
		s.watcher.forget(e)
	}
	s.watcher.mu.Unlock()
	if e != nil {
		s.watcher.lost(s.ctx, []*entry{e})
	}
	return nil
}

// Replace takes a whole list.
func (s *store) Replace(all []any, _ string) error {
	now := make([]*slim, len(all))
	there := make(map[place]bool, len(all))
	for i, o := range all {
		var err error
		if now[i], err = s.slim(o); err != nil {
			return err
		}
		there[place{now[i].Namespace, now[i].Name}] = true
	}
	var events []Event
	var gone []*entry
	s.watcher.mu.Lock()
	if s.ctx.Err() != nil {
		s.watcher.mu.Unlock()
		return nil
	}
	for p, e := range s.kind.objects {
		if !there[p] && (s.namespace == "" || s.namespace == p.namespace) {
			gone = append(gone, e)
		}
	}
	for _, e := range gone {
		s.watcher.forget(e)
	}
	for _, o := range now {
		if before := s.put(o); before == nil || !before.same(&o.kept) {
			events = append(events, Event{Key: s.key(o), Before: before, After: &o.kept})
		}
	}
	if !s.listed {
		s.listed = true
		s.kind.missing--
	}
	if s.kind.missing == 0 {
		s.kind.problem = nil
	}
	s.watcher.announce()
	s.watcher.mu.Unlock()
	for _, e := range events {
		s.watcher.cfg.Changed(e)
	}
	s.watcher.lost(s.ctx, gone)
	return nil
}

// Resync is nothing to it.
func (s *store) Resync() error { return nil }

// failed notes why a kind can't be listed or watched.
func (s *store) failed(err error) {
	if apierrors.IsNotFound(err) {
		signal(s.watcher.look) // the kind itself may have gone
	}
	s.watcher.mu.Lock()
	if !s.listed {
		s.kind.problem = err
	}
	s.watcher.announce()
	s.watcher.mu.Unlock()
	s.watcher.cfg.Log.WarnContext(s.ctx, "a kind can't be watched", "kind", s.kind.group.String(), "namespace", s.namespace, "error", err)
}
