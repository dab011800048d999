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

// Delete deletes an application: with cascade its objects, and then what is kept of
// it. done is told when that is over. It may be called of an application whose
// document has gone already.
func (r *Reconciler) Delete(k Key, cascade bool, done func(error)) error {
	r.mu.Lock()
	if rec := r.records[k]; r.apps[k] == nil && rec != nil {
		a := &app{r: r, key: k, rec: rec, log: r.cfg.Log.With("app", k.tracked())}
		a.in.doc = &gitops.Application{
			Meta: gitops.Meta{Name: k.Name, Namespace: k.Namespace}, Spec: gitops.ApplicationSpec{Destination: rec.Status.Sync.ComparedTo.Destination},
		}
		delete(r.records, k)
		r.apps[k], r.named[k.tracked()] = a, a
	}
	r.mu.Unlock()
	return r.ask(k, func(a *app) error {
		a.in.remove = &removal{cascade, done}
		return nil
	})
}

// forget lets go of an application whose document has gone. Its objects stay as they
// are.
func (a *app) forget(ctx context.Context, doc *gitops.Application) {
	a.letGo(ctx)
	a.rec.Forgotten = a.r.clock().UTC()
	a.rec.Run = nil
	a.rec.Status.Sync.ComparedTo.Destination = doc.Spec.Destination
	if err := a.save(ctx); err != nil {
		a.log.WarnContext(ctx, "the record isn't kept", "error", err)
	}
	a.r.mu.Lock()
	a.gone = true
	a.r.records[a.key] = a.rec
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

// remove deletes the application's objects, wave by wave from the last, and says when
// to look again.
func (a *app) remove(ctx context.Context, loops *sync.WaitGroup, in inputs, docs Documents) time.Time {
	a.doc, a.docs = in.doc, docs
	a.rec.Run = nil
	if in.remove.cascade {
		more, err := a.removeObjects(ctx, loops)
		if err != nil {
			a.found = []gitops.Condition{{Type: gitops.ConditionDeletionError, Message: err.Error()}}
			a.show()
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
	a.gone = true
	a.r.mu.Unlock()
	a.tellGone()
	in.remove.done(nil)
	return time.Time{}
}

// removeObjects deletes those of the last wave that has any, and says whether there
// is more to wait for.
func (a *app) removeObjects(ctx context.Context, loops *sync.WaitGroup) (more bool, err error) {
	if err := a.settle(ctx, loops); err != nil {
		return true, err
	}
	waves := map[int64][]object.Key{}
	for _, k := range a.site.watcher.Of(a.key.tracked()) {
		o, there := a.seen(k)
		options := syncing.ParseOptions(strings.Split(o.Notes[object.AnnotationOptions], ","))
		switch {
		case !there || options.Off(syncing.OptionDelete):
			continue
		case options[syncing.OptionDelete] == "confirm" && a.approved().IsZero():
			return true, fmt.Errorf("waiting for deletion confirmation of %s", describe(k))
		}
		waves[syncing.Wave(o.Notes)] = append(waves[syncing.Wave(o.Notes)], k)
	}
	if len(waves) == 0 {
		return false, nil
	}
	last := slices.Max(slices.Collect(maps.Keys(waves)))
	var problems []error
	for _, k := range waves[last] {
		o, there := a.seen(k)
		if !there || o.Deleting {
			continue
		}
		named := applying.Named(schema.GroupVersionKind{Group: k.Group, Version: a.rec.Inventory[k].Version, Kind: k.Kind}, k)
		if _, err := a.site.cluster.Delete(ctx, named, applying.Deletion{UID: o.UID, Propagation: metav1.DeletePropagationForeground}); err != nil {
			problems = append(problems, err)
		}
	}
	return true, errors.Join(problems...)
}
