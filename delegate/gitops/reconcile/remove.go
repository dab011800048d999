package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/syncing"
)

// forgottenFor is how long the record of an application stays whose document has
// gone: somebody may yet ask for its objects to be deleted.
const forgottenFor = 24 * time.Hour

// documentWithin is how long a deletion waits for the application's document to go,
// which is what makes it one.
const documentWithin = time.Minute

// Deletion is what is asked of the deletion of an application.
type Deletion struct {
	Request string // the id of who asks; one that asks again asks once
	Cascade bool   // its objects, too
	Now     bool   // its document needn't go before
	// Done is told when the application is gone, or why it isn't deleted. It must not
	// block.
	Done func(error)
}

// removal deletes an application, as it was asked for last.
type removal struct {
	cascade, now bool
	asked        time.Time
	done         map[string]func(error) // by request
}

func (m *removal) told(err error) {
	if m == nil {
		return
	}
	for _, done := range m.done {
		done(err)
	}
}

// Delete deletes an application: with its objects, if that is asked for, and then what
// is kept of it. Its document goes before that, or has gone already.
func (r *Reconciler) Delete(k Key, d Deletion) error {
	r.mu.Lock()
	if rec := r.records[k]; r.apps[k] == nil && rec != nil {
		r.addGoneLocked(k, rec)
	}
	r.mu.Unlock()
	return r.ask(k, func(a *app) error {
		m := &removal{cascade: d.Cascade, now: d.Now, asked: r.clock(), done: map[string]func(error){}}
		if was := a.in.remove; was != nil {
			maps.Copy(m.done, was.done)
		}
		m.done[d.Request] = d.Done
		a.in.remove = m
		return nil
	})
}

// addGoneLocked makes an application whose document has gone, of its record. The lock is
// held.
func (r *Reconciler) addGoneLocked(k Key, rec *record) *app {
	a := r.addLocked(k)
	a.in.doc, a.in.forget = rec.Left, true
	if rec.Left == nil { // its last process didn't hear of that
		a.in.doc = &gitops.Application{
			Meta: gitops.Meta{Name: k.Name, Namespace: k.Namespace}, Spec: gitops.ApplicationSpec{Destination: rec.Status.Sync.ComparedTo.Destination},
		}
	}
	return a
}

// awaits says until when a removal waits for the application's document to go. One that
// has waited is refused.
func (a *app) awaits(m *removal) time.Time {
	if m == nil {
		return time.Time{}
	}
	until := m.asked.Add(documentWithin)
	if a.r.clock().Before(until) {
		return until
	}
	a.r.mu.Lock()
	last := a.in.remove == m
	if last {
		a.in.remove = nil
	}
	a.r.mu.Unlock()
	if last {
		m.told(fault.New(fault.Conflict, "application %s has its document still; delete that", a.key.tracked()))
	}
	return time.Time{}
}

// forget lets go of an application whose document has gone. Its objects stay as they
// are.
func (a *app) forget(ctx context.Context, doc *gitops.Application) {
	a.letGo(ctx)
	a.rec.Forgotten, a.rec.Left, a.rec.Run = a.r.clock().UTC(), doc, nil
	if err := a.save(ctx); err != nil {
		a.log.WarnContext(ctx, "the record isn't kept", "error", err)
	}
	a.r.mu.Lock()
	a.gone = true
	a.r.mu.Unlock()
	a.tellGone()
}

func (a *app) tellGone() {
	if a.r.cfg.Report != nil {
		a.r.cfg.Report(a.key, nil)
	}
}

// letGo lets go of what is watched for the application.
func (a *app) letGo(ctx context.Context) {
	if a.site == nil {
		return
	}
	if err := a.site.want(ctx, a.watched, nil); err != nil {
		a.log.WarnContext(ctx, "kinds can't be let go of", "error", err)
	}
	a.watched = nil
}

// remove deletes the application's objects, wave by wave from the last, between the
// hooks of its deletion, and says when to look again.
func (a *app) remove(ctx context.Context, loops *sync.WaitGroup, in inputs, docs Documents) time.Time {
	a.doc, a.docs = in.doc, docs
	a.rec.Run = nil
	if in.remove.cascade {
		a.rec.Removing, a.rec.RemovingNow = true, in.remove.now
		if a.rec.Forgotten.IsZero() {
			a.rec.Forgotten, a.rec.Left = a.r.clock().UTC(), in.doc
		}
		if err := a.save(ctx); err != nil {
			a.log.WarnContext(ctx, "the removal can't begin", "error", err)
			return a.r.clock().Add(a.pause())
		}
		more, err := a.removeAll(ctx, loops, in)
		if err != nil {
			a.found = []gitops.Condition{{Type: gitops.ConditionDeletionError, Message: err.Error()}}
			a.show()
		}
		if a.rec.stopped() {
			a.r.stop(in.remove, err)
		}
		if more || err != nil {
			return a.r.clock().Add(lookEvery)
		}
	}
	a.letGo(ctx)
	_, err := a.r.cfg.Home.Delete(ctx, applying.Named(secrets, object.Key{Kind: "Secret", Namespace: a.r.cfg.Namespace, Name: secretOf(a.key)}), applying.Deletion{})
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		a.log.WarnContext(ctx, "the record of an application that is gone stays", "error", err)
		return a.r.clock().Add(a.pause())
	}
	a.r.mu.Lock()
	a.gone, a.rec = true, nil
	a.r.mu.Unlock()
	a.tellGone()
	return time.Time{}
}

// removeObjects deletes those of the last wave that has any, and says whether there
// is more to wait for.
func (a *app) removeObjects(ctx context.Context) (more bool, err error) {
	waves := map[int64][]object.Key{}
	for _, k := range a.site.watcher.Of(a.key.tracked()) {
		o, there := a.seen(k)
		options := syncing.ParseOptions(strings.Split(o.Notes[object.AnnotationOptions], ","))
		switch {
		case !there || options.Off(syncing.OptionDelete) || len(syncing.DeletionHooks(o.Notes)) > 0:
			continue
		case options[syncing.OptionDelete] == "confirm" && a.approved().IsZero():
			return true, fmt.Errorf("waiting for deletion confirmation of %s", describe(k))
		}
		waves[syncing.Wave(o.Notes)] = append(waves[syncing.Wave(o.Notes)], k)
	}
	if len(waves) == 0 {
		return false, nil
	}
	hand, err := a.site.hand(a.bounds)
	if err != nil {
		return true, err
	}
	last := slices.Max(slices.Collect(maps.Keys(waves)))
	var problems []error
	for _, k := range waves[last] {
		o, there := a.seen(k)
		gvk := schema.GroupVersionKind{Group: k.Group, Version: a.rec.Inventory[k].Version, Kind: k.Kind}
		if _, hook := syncing.Hooks(o.Notes); there && hook { // a sync that was cut short holds it
			if err := (&performer{app: a, hand: hand}).letGo(ctx, gvk, syncing.Task{Key: k, UID: string(o.UID)}, true); err != nil {
				problems = append(problems, err)
			}
			continue
		}
		if !there || o.Deleting {
			continue
		}
		named := applying.Named(gvk, k)
		if _, err := hand.Delete(ctx, named, applying.Deletion{UID: o.UID, Propagation: metav1.DeletePropagationForeground}); err != nil {
			problems = append(problems, err)
		}
	}
	return true, errors.Join(problems...)
}
