package reconcile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/window"
)

// app is one application. What stands under the Reconciler's lock is said to; all
// else is of the worker whose turn it is.
type app struct {
	r   *Reconciler
	key Key
	log *slog.Logger

	// Under the lock.
	in        inputs
	at        string    // the server of its cluster; empty: none
	due       time.Time // zero: nothing is to be done
	busy      bool
	operating bool
	gone      bool
	asked     string // the id of the request for the last operation
	shown     *gitops.ApplicationStatus
	// shownStrays is how many orphans were told of with it.
	shownStrays int

	doc      *gitops.Application
	docs     Documents
	rec      *record
	saved    []byte // the record as it was written last
	target   *target
	parting  *target // the hooks of the removal under way
	site     *site
	bounds   *bounds
	watched  map[schema.GroupKind]bool
	pollAt   time.Time
	failures int                    // of polls, in a row
	verdicts map[object.Key]verdict // of dry runs
	shared   []object.Key           // objects of the target that carry another application's id
	drifted  bool
	found    []gitops.Condition // by the last refresh
	odd      []gitops.Condition // by the last comparison
	doing    []gitops.Condition // by what is done automatically
	strays   orphans
}

// inputs are what an application was told since its last turn.
type inputs struct {
	doc       *gitops.Application
	sync      *gitops.Operation
	back      *gitops.HistoryEntry // sync is a rollback to it
	refresh   bool
	hard      bool
	terminate bool
	forget    bool
	remove    *removal
	hold      *hold // begin it
	release   bool  // end the hold
	visits    []chan<- *app
}

// step does what there is to do, and says when there is more.
func (a *app) step(ctx context.Context, loops *sync.WaitGroup, in inputs, docs Documents) time.Time {
	if a.saved == nil && a.rec.version != "" {
		a.saved, _ = json.Marshal(a.rec) //nolint:errchkjson // it came as JSON
	}
	switch {
	case in.remove != nil && (in.forget || in.remove.now):
		return a.remove(ctx, loops, in, docs)
	case in.forget:
		a.forget(ctx, in.doc)
		return time.Time{}
	case !a.rec.Forgotten.IsZero(): // its document has come back
		a.rec.Forgotten, a.rec.Left, a.rec.Removing, a.rec.RemovingNow = time.Time{}, nil, false, false
		a.rec.Parting, a.parting = nil, nil
		if err := a.save(ctx); err != nil {
			a.log.WarnContext(ctx, "the record isn't kept", "error", err)
			return a.r.clock().Add(a.pause())
		}
	}
	wait := a.awaits(in.remove)
	fresh := a.doc == nil || !reflect.DeepEqual(a.doc.Spec, in.doc.Spec) || !reflect.DeepEqual(a.docs.Settings, docs.Settings)
	if was, is := a.docs.bound(in.doc), docs.bound(in.doc); !fresh && !reflect.DeepEqual(was, is) {
		in.refresh = true // somebody may have to sign what it has
	}
	if fresh {
		a.verdicts = nil
	}
	if !reflect.DeepEqual(a.docs.Settings, docs.Settings) {
		a.target = nil // it was made by them
	}
	a.doc, a.docs = in.doc, docs
	if a.doc.Meta.Annotations[object.AnnotationSkipReconcile] == "true" {
		return earliest(a.r.clock().Add(time.Hour), wait)
	}
	now := a.r.clock()
	a.keep(ctx, in)
	err := a.settle(ctx, loops)
	if err == nil {
		err = a.bounds.application(a.doc)
	}
	if err != nil {
		a.found = []gitops.Condition{{Type: conditionOf(err), Message: err.Error()}}
		a.rec.Status.Sync.Status = gitops.SyncUnknown
		a.pollAt = time.Time{}                      // once it can be looked at again, it is
		if fault.CodeOf(err) == fault.Unavailable { // how it fares, nobody knows
			a.fares(gitops.HealthStatus{Status: gitops.HealthUnknown})
		}
		if in.sync != nil {
			a.refuse(ctx, *in.sync, err)
		}
		a.show()
		return earliest(now.Add(a.pause()), wait)
	}
	if h := a.rec.Hold; h != nil && !h.Until.IsZero() && h.over("", now) {
		in.refresh = true
	}
	if fresh || in.refresh || a.pollAt.IsZero() || !now.Before(a.pollAt) {
		_ = a.refresh(ctx, in.hard, in.refresh || fresh) // it is told
	}
	if in.hard {
		a.verdicts = nil
	}
	if in.sync != nil {
		a.r.mu.Lock()
		a.rec.Asked = a.asked
		a.r.mu.Unlock()
		if in.back != nil {
			a.holds(*in.back, *in.sync)
		} else if r := in.sync.Sync; a.rec.Hold != nil && (r == nil || r.Revision == "" && r.Revisions == nil && r.Resources == nil && r.Filter == nil && !r.DryRun) {
			a.rec.Hold = nil // somebody wants what is tracked
		}
		a.begin(ctx, *in.sync, false)
		if in.back != nil {
			_ = a.refresh(ctx, false, false) // it is told
		}
	} else if o := a.doc.Operation; o != nil && a.rec.Run == nil && !reflect.DeepEqual(a.rec.Document, o) {
		a.rec.Document = o
		a.begin(ctx, *o, false)
	}
	if in.terminate {
		a.terminate()
	}
	a.overtake()
	next := earliest(a.pollAt, wait)
	if h := a.rec.Hold; h != nil {
		next = earliest(next, h.Until)
	}
	for range 3 { // a sync, and the one that it leads to
		if a.rec.Run != nil {
			if wake := a.operate(ctx); a.rec.Run != nil {
				next = earliest(next, wake)
				break
			}
		}
		a.compare(ctx)
		begun, wake := a.automate(ctx)
		next = earliest(earliest(next, wake), window.Edge(a.bounds.windows, now))
		if !begun {
			break
		}
	}
	if a.rec.Run != nil { // it shows while it goes on, too
		a.compare(ctx)
	}
	next = earliest(next, a.strays.look(ctx, a, in.hard))
	a.show()
	if a.rec.Status.Sync.Status == gitops.Synced && a.rec.Run == nil {
		a.target.unload()
	}
	return next
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// settle finds the cluster of the application.
func (a *app) settle(ctx context.Context, loops *sync.WaitGroup) error {
	c, err := a.docs.cluster(a.r.cfg.Home, a.doc.Spec.Destination)
	if err != nil {
		return err
	}
	if a.bounds, err = a.docs.bounds(a.doc, c); err != nil {
		return err
	}
	if err := cmp.Or(a.bounds.foreign(a.doc), c.Problem); err != nil {
		return err
	}
	s, err := a.r.site(ctx, loops, c)
	if err != nil {
		return err
	}
	if c.Cluster != a.r.cfg.Home {
		if err := s.reachable(ctx, a.r.clock()); err != nil {
			return fault.Wrap(err, "cluster %s", c.Name)
		}
	}
	if a.site != nil && a.site != s {
		if err := a.site.want(ctx, a.watched, nil); err != nil {
			a.log.WarnContext(ctx, "the former cluster can't be let go of", "error", err)
		}
		a.watched, a.target, a.verdicts, a.pollAt = nil, nil, nil, time.Time{}
	}
	a.site = s
	return a.watch(ctx, nil)
}

// watch has the kinds watched of what was applied and of what is to be.
func (a *app) watch(ctx context.Context, t *target) error {
	kinds := t.kinds()
	for gk := range a.target.kinds() {
		kinds[gk] = true
	}
	for gk := range a.parting.kinds() {
		kinds[gk] = true
	}
	for k := range a.rec.Inventory {
		kinds[schema.GroupKind{Group: k.Group, Kind: k.Kind}] = true
	}
	before := a.watched
	a.watched = kinds
	return a.site.want(ctx, before, kinds)
}

// conditionOf is what people are told of an error by.
func conditionOf(err error) gitops.ConditionType {
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Unsupported) || fault.Is(err, fault.Forbidden) {
		return gitops.ConditionInvalidSpec
	}
	return gitops.ConditionComparisonError
}

// pause is how long to wait after what couldn't be found out.
func (a *app) pause() time.Duration {
	a.failures++
	wait := retryFirst
	for range min(a.failures, 10) - 1 {
		wait *= 2
	}
	return min(wait, retryMost)
}

// maxQuietFailures is how many polls may fail before people are told, as long as
// there is a target.
const maxQuietFailures = 3

// refresh finds out what the application is to be. Where that fails it stays what it
// was, which is told with the application; the error is for who asks.
func (a *app) refresh(ctx context.Context, hard, asked bool) error {
	since := a.r.clock()
	if !asked {
		since = since.Add(-a.r.pollEvery() / 2) // what another application of the repository was told will do
	}
	t, notices, err := a.look(ctx, since, hard)
	if h := a.rec.Hold; err == nil && h != nil {
		if h.over(t.key, a.r.clock()) {
			a.rec.Hold = nil
		} else if t, err = a.render(ctx, h.Sources, h.Revisions, hard); err == nil {
			h.Key = t.key
			notices = append(notices, h.condition())
		}
	}
	if err != nil {
		a.pollAt = a.r.clock().Add(a.pause())
		unreachable := a.failures < maxQuietFailures && a.target != nil && fault.CodeOf(err) == fault.Unavailable
		if !unreachable {
			a.found = []gitops.Condition{{Type: gitops.ConditionComparisonError, Message: err.Error()}}
		}
		if a.target == nil && a.rec.Key != "" {
			// What was rendered last is still what is healed.
			if last, err := a.render(ctx, a.rec.Sources, a.rec.Revisions, false); err == nil {
				a.target = last
			}
		}
		return err
	}
	a.failures, a.found = 0, notices
	a.pollAt = a.r.nextPoll()
	a.target = t
	a.rec.Key, a.rec.Sources, a.rec.Revisions = t.key, t.sources, t.revisions
	if t.partings != nil && !slices.EqualFunc(t.partings, a.rec.Partings, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		a.rec.Partings = t.partings
		if err := a.save(ctx); err != nil {
			a.found = append(a.found, gitops.Condition{Type: gitops.ConditionComparisonError, Message: err.Error()})
		}
	}
	if err := a.watch(ctx, nil); err != nil {
		a.found = append(a.found, gitops.Condition{Type: gitops.ConditionComparisonError, Message: err.Error()})
	}
	return nil
}

// look resolves and renders.
func (a *app) look(ctx context.Context, since time.Time, hard bool) (*target, []gitops.Condition, error) {
	sources := a.doc.Spec.All()
	found, err := a.r.cfg.Sources.Resolve(ctx, source.Wanted{Project: a.doc.Spec.Project, Sources: sources, Known: &a.docs.Known, Since: since})
	if err != nil {
		return nil, nil, err
	}
	can, err := a.site.abilities(a.r.clock(), hard)
	if err != nil {
		return nil, nil, err
	}
	if a.target != nil && !hard && slices.Equal(found.Revisions, a.target.revisions) && reflect.DeepEqual(sources, a.target.sources) && can.same(a.target.can) {
		if err := a.bounds.signed(ctx, a.r.cfg.Sources, &a.docs.Known, sources, found.Revisions); err != nil {
			if fault.CodeOf(err) != fault.Unavailable {
				a.target = nil // nobody heals to what isn't to be there
			}
			return nil, nil, err
		}
		return a.target, slices.Concat(found.Conditions, a.target.notices), nil
	}
	t, err := a.render(ctx, sources, found.Revisions, hard)
	if err != nil {
		return nil, nil, err
	}
	return t, append(found.Conditions, t.notices...), nil
}

// render gives the target of some revisions.
func (a *app) render(ctx context.Context, sources []gitops.Source, revisions []string, hard bool) (*target, error) {
	can, err := a.site.abilities(a.r.clock(), false)
	if err == nil {
		err = a.bounds.signed(ctx, a.r.cfg.Sources, &a.docs.Known, sources, revisions)
	}
	if err != nil {
		return nil, err
	}
	q := render.Request{
		App: a.key.Name, Namespace: a.doc.Spec.Destination.Namespace, Project: a.doc.Spec.Project,
		Sources: sources, Revisions: revisions, Known: &a.docs.Known, KubeVersion: can.version, APIVersions: can.kinds, Hard: hard,
	}
	if a.target != nil {
		q.Have = a.target.key
	}
	out, err := a.r.cfg.Renderer.Render(ctx, q)
	if err != nil {
		return nil, err
	}
	if a.target != nil && out.Objects == nil && out.Key == a.target.key {
		t := *a.target
		t.sources, t.revisions, t.can, t.notices = sources, revisions, can, slices.Concat(out.Conditions, t.left)
		return &t, nil
	}
	t, err := a.prepare(a.doc.Spec.Destination.Namespace, out.Objects)
	if err != nil {
		return nil, err
	}
	t.key, t.sources, t.revisions, t.can, t.notices, t.unstable = out.Key, sources, revisions, can, slices.Concat(out.Conditions, t.left), out.Unstable
	return t, nil
}

// load brings back the bodies of a target's objects, which aren't held while there
// is nothing to do.
func (a *app) load(ctx context.Context, t *target) (*target, error) {
	if t.loaded() {
		return t, nil
	}
	held := a.target
	a.target = nil // it is of no use to the renderer
	fresh, err := a.render(ctx, t.sources, t.revisions, false)
	a.target = held
	if err != nil {
		return nil, err
	}
	if a.target == t {
		a.target = fresh
	}
	return fresh, nil
}

// show tells how the application is, if that has changed.
func (a *app) show() {
	s := a.rec.Status
	if s.OperationState != nil { // it is written on
		now := *s.OperationState
		s.OperationState = &now
	}
	s.Conditions = a.conditions()
	a.rec.Status.Conditions = s.Conditions
	a.r.mu.Lock()
	same := a.shown != nil && a.shownStrays == a.strays.count && reflect.DeepEqual(*a.shown, s)
	if !same {
		shown := s
		a.shown, a.shownStrays = &shown, a.strays.count
	}
	a.operating = a.rec.Run != nil
	a.r.mu.Unlock()
	if !same && a.r.cfg.Report != nil {
		v := View{ApplicationStatus: s, Request: a.rec.Request, Before: a.rec.Before, Orphaned: a.strays.count}
		if h := a.rec.Hold; h != nil {
			v.Held = revisionsOf(h.Revisions)
		}
		a.r.cfg.Report(a.key, &v)
	}
}

// conditions are all that there are now; one that was there keeps its time.
func (a *app) conditions() []gitops.Condition {
	var out []gitops.Condition
	now := a.r.clock().UTC().Truncate(time.Second)
	for _, c := range slices.Concat(a.found, a.odd, a.doing, a.strays.found) {
		c.LastTransitionTime = &now
		for _, was := range a.rec.Status.Conditions {
			if was.Type == c.Type && was.Message == c.Message {
				c.LastTransitionTime = was.LastTransitionTime
			}
		}
		out = append(out, c)
	}
	return out
}

// seen gives what the watch knows of an object.
func (a *app) seen(k object.Key) (live.Object, bool) { return a.site.watcher.Get(k) }
