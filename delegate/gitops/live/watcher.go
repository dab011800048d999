package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Config is what a Watcher needs.
type Config struct {
	Cluster *applying.Cluster
	Agent   string // the value of object.LabelAgent by which objects are ours
	// Namespaces are the ones that may be seen; none: all.
	Namespaces []string
	// HasHealth says which kinds have a health. Their objects are read whole and
	// shown to Judge, of which only the verdict is kept.
	HasHealth func(schema.GroupKind) bool
	Judge     func(*unstructured.Unstructured) *gitops.HealthStatus
	// Changed is told of each change. It must not block, nor call Want. It says
	// where to look: how things are then, Get tells, as what has gone from sight is
	// told of late.
	Changed func(Event)
	Log     *slog.Logger
}

// Watcher watches the objects of one cluster that are an agent's.
type Watcher struct {
	cfg  Config
	meta metadata.Interface
	poke chan struct{} // holds one signal: what is wanted has changed
	look chan struct{} // holds one signal: the kinds of the cluster may have changed
	get  errgroup.Group

	mu      sync.RWMutex
	wanted  map[schema.GroupKind]bool
	asked   int                        // how many times something was wanted, and of which the last is
	done    int                        // seen to
	unknown map[schema.GroupKind]error // wanted, and not watched: nil for kinds that the cluster doesn't have
	kinds   map[schema.GroupKind]*kind
	apps    map[string]map[*entry]struct{}
	settled chan struct{} // closed, and made anew, whenever a kind's state changes
}

// entry is an Object in the store, where there are many.
type entry struct {
	kind *kind
	place

	version    string
	app        string
	uid        [16]byte
	generation int64
	own        Hash
	rare       *rare // nil mostly
	deleting   bool
}

// rare is what few objects have.
type rare struct {
	uid      types.UID // one that is no UUID
	observed int64
	tracking string
	health   *gitops.HealthStatus
	notes    map[string]string
}

func packed(k *kind, p place, o *Object) *entry {
	e := &entry{kind: k, place: p, version: o.ResourceVersion, app: o.App, generation: o.Generation, own: o.Own, deleting: o.Deleting}
	more := rare{observed: o.Observed, tracking: o.Tracking, health: o.Health, notes: o.Notes}
	if id, err := uuid.Parse(string(o.UID)); err == nil && id.String() == string(o.UID) {
		e.uid = id
	} else {
		more.uid = o.UID
	}
	if more.uid != "" || more.observed != 0 || more.tracking != "" || more.health != nil || more.notes != nil {
		e.rare = &more
	}
	return e
}

// object is the entry as others see it.
func (e *entry) object() *Object {
	o := &Object{ResourceVersion: e.version, App: e.app, Generation: e.generation, Own: e.own, Deleting: e.deleting}
	if r := e.rare; r != nil {
		o.UID, o.Observed, o.Tracking, o.Health, o.Notes = r.uid, r.observed, r.tracking, r.health, r.notes
	}
	if o.UID == "" {
		o.UID = types.UID(uuid.UUID(e.uid).String())
	}
	return o
}

func (e *entry) key() object.Key {
	return object.Key{Group: e.kind.group.Group, Kind: e.kind.group.Kind, Namespace: e.namespace, Name: e.name}
}

// place is an object's name among those of its kind.
type place struct{ namespace, name string }

// atOnce is how many objects are asked for at once that have gone from sight.
const atOnce = 16

// New makes a watcher; Run has it watch.
func New(cfg Config) (*Watcher, error) {
	m, err := metadata.NewForConfigAndClient(cfg.Cluster.Config, cfg.Cluster.HTTP)
	if err != nil {
		return nil, fmt.Errorf("make a client of metadata: %w", err)
	}
	w := &Watcher{
		cfg: cfg, meta: m, poke: make(chan struct{}, 1), look: make(chan struct{}, 1), settled: make(chan struct{}),
		wanted: map[schema.GroupKind]bool{}, unknown: map[schema.GroupKind]error{}, kinds: map[schema.GroupKind]*kind{}, apps: map[string]map[*entry]struct{}{},
	}
	w.get.SetLimit(atOnce)
	return w, nil
}

// The pauses after which kinds that the cluster doesn't have, or can't tell of, are
// looked for again grow from the first to the longest. A kind is served some time
// after its definition has come.
const firstPause, longestPause = 100 * time.Millisecond, 5 * time.Minute

// Run watches until its context ends, and gives the cause of that.
func (w *Watcher) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	defer func() {
		loops.Wait()
		_ = w.get.Wait() // they report to the log
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, gvr := range definitions() {
		loops.Go(func() { w.watchDefinitions(ctx, gvr) })
	}
	pause, fresh := firstPause, false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.look:
			pause, fresh = firstPause, true
		case <-w.poke:
			pause = firstPause
		case <-timer.C:
		}
		missing := w.adjust(ctx, &loops, fresh)
		fresh = false
		timer.Stop()
		if missing {
			fresh = true
			timer.Reset(pause)
			pause = min(2*pause, longestPause)
		}
	}
}

// adjust starts and stops watches so that what is wanted is watched, and says
// whether there is something to try again. Fresh has the cluster asked anew for
// its kinds.
func (w *Watcher) adjust(ctx context.Context, loops *sync.WaitGroup, fresh bool) (missing bool) {
	w.mu.RLock()
	wanted := slices.SortedFunc(maps.Keys(w.wanted), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	asked := w.asked
	w.mu.RUnlock()
	if fresh {
		w.cfg.Cluster.Mapper.Reset()
	}
	mappings, problems := map[schema.GroupKind]*meta.RESTMapping{}, map[schema.GroupKind]error{}
	for _, gk := range wanted {
		m, err := w.cfg.Cluster.Mapper.RESTMapping(gk)
		if meta.IsNoMatchError(err) && !fresh { // it may have been added since
			fresh = true
			w.cfg.Cluster.Mapper.Reset()
			m, err = w.cfg.Cluster.Mapper.RESTMapping(gk)
		}
		switch {
		case err == nil:
			mappings[gk] = m
		case meta.IsNoMatchError(err):
			problems[gk] = nil
		default:
			problems[gk] = applying.Classify(err)
		}
	}
	w.mu.Lock()
	var gone []*entry
	for gk, k := range w.kinds {
		m := mappings[gk]
		if m != nil && m.Resource == k.resource {
			continue
		}
		if _, unsure := problems[gk]; unsure && problems[gk] != nil && w.wanted[gk] {
			continue // the cluster can't tell now; the watch goes on
		}
		k.stop()
		delete(w.kinds, gk)
		for _, e := range k.objects {
			w.forget(e)
			gone = append(gone, e)
		}
	}
	w.unknown = map[schema.GroupKind]error{}
	for gk, err := range problems {
		if w.wanted[gk] && w.kinds[gk] == nil {
			w.unknown[gk] = err
		}
	}
	for gk, m := range mappings {
		if w.wanted[gk] && w.kinds[gk] == nil {
			w.kinds[gk] = w.start(ctx, loops, gk, m)
		}
	}
	missing = len(w.unknown) > 0
	w.done = asked
	w.announce()
	var events []Event
	for _, e := range gone {
		if w.wanted[e.kind.group] { // the kind itself has gone, and all that was of it
			events = append(events, Event{Key: e.key(), Before: e.object()})
		}
	}
	w.mu.Unlock()
	for _, e := range events {
		w.cfg.Changed(e)
	}
	return missing
}

// announce wakes those who wait for a kind. The lock is held.
func (w *Watcher) announce() {
	close(w.settled)
	w.settled = make(chan struct{})
}

// Want says which kinds are to be watched: these and no others. It waits until all
// of their objects are known; kinds that the cluster doesn't have yet are watched
// when they come, and not waited for. The error is of the first kind, of those that it
// is about, that can't be watched; it is tried again.
func (w *Watcher) Want(ctx context.Context, kinds, about []schema.GroupKind) error {
	w.mu.Lock()
	w.wanted = map[schema.GroupKind]bool{}
	for _, gk := range kinds {
		w.wanted[gk] = true
	}
	w.asked++
	asked := w.asked
	w.mu.Unlock()
	signal(w.poke)
	for {
		w.mu.RLock()
		seen, settled := w.done >= asked, w.settled
		var err error
		for _, gk := range kinds {
			known, problem := w.state(gk)
			if problem != nil && err == nil && slices.Contains(about, gk) {
				err = fault.Wrap(problem, "%s can't be watched", gk)
			}
			seen = seen && (known || problem != nil)
		}
		w.mu.RUnlock()
		if seen {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-settled:
		}
	}
}

// Forbidden is the error of the first of some kinds that the agent isn't allowed to
// watch; nil: it is, as far as is known.
func (w *Watcher) Forbidden(kinds map[schema.GroupKind]bool) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, gk := range slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) }) {
		if _, problem := w.state(gk); fault.Is(problem, fault.Forbidden) {
			return fault.Wrap(problem, "%s can't be watched", gk)
		}
	}
	return nil
}

// state says whether it is known what there is of a kind, or why not. The lock is
// held.
func (w *Watcher) state(gk schema.GroupKind) (known bool, problem error) {
	if k := w.kinds[gk]; k != nil {
		return k.missing == 0, k.problem
	}
	problem, unknown := w.unknown[gk]
	return unknown && problem == nil || !w.wanted[gk], problem
}

// Known says whether all objects of a kind are known. It is false of a kind that
// isn't watched, or that the cluster doesn't have.
func (w *Watcher) Known(gk schema.GroupKind) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	k := w.kinds[gk]
	return k != nil && k.missing == 0
}

// Get gives what is known of an object; false if it isn't there, or isn't ours.
func (w *Watcher) Get(key object.Key) (Object, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	k := w.kinds[schema.GroupKind{Group: key.Group, Kind: key.Kind}]
	if k == nil {
		return Object{}, false
	}
	e := k.objects[place{key.Namespace, key.Name}]
	if e == nil {
		return Object{}, false
	}
	return *e.object(), true
}

// Of lists the objects whose tracking id names an application.
func (w *Watcher) Of(app string) []object.Key {
	w.mu.RLock()
	defer w.mu.RUnlock()
	out := make([]object.Key, 0, len(w.apps[app]))
	for e := range w.apps[app] {
		out = append(out, e.key())
	}
	return out
}

// put keeps an object and gives what was kept of it before. The lock is held.
func (w *Watcher) put(k *kind, p place, o *Object) (before *Object) {
	was := k.objects[p]
	if was != nil {
		w.forget(was)
		before = was.object()
	}
	e := packed(k, p, o)
	k.objects[p] = e
	if e.app != "" {
		if w.apps[e.app] == nil {
			w.apps[e.app] = map[*entry]struct{}{}
		}
		w.apps[e.app][e] = struct{}{}
	}
	return before
}

// forget drops an object. The lock is held.
func (w *Watcher) forget(e *entry) {
	delete(e.kind.objects, e.place)
	delete(w.apps[e.app], e)
	if len(w.apps[e.app]) == 0 {
		delete(w.apps, e.app)
	}
}

// lost finds out what has become of objects that have gone from sight: they are
// gone, or have lost our label, which one request for each decides.
func (w *Watcher) lost(ctx context.Context, gone []*entry) {
	for _, e := range gone {
		w.get.Go(func() error {
			o := applying.Named(e.kind.kind, e.key())
			found, err := w.cfg.Cluster.Get(ctx, o)
			switch {
			case ctx.Err() != nil: // a kind that goes takes its objects along, which may have been gone before it was
				if errors.Is(context.Cause(ctx), errDropped) && w.wants(e.kind.group) {
					w.cfg.Changed(Event{Key: e.key(), Before: e.object()})
				}
			case err != nil && !errors.Is(err, applying.ErrNoKind):
				w.cfg.Log.WarnContext(ctx, "an object that has gone from sight can't be read", "object", e.key().String(), "error", err)
				w.cfg.Changed(Event{Key: e.key(), Before: e.object()}) // whoever goes by it reads it before he acts
			case found == nil || found.GetLabels()[object.LabelAgent] != w.cfg.Agent:
				w.cfg.Changed(Event{Key: e.key(), Before: e.object(), Stray: found})
			}
			return nil
		})
	}
}

func (w *Watcher) wants(gk schema.GroupKind) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.wanted[gk]
}

// signal sets a signal that a channel of one holds.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
