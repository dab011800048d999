package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/syncing"
)

// maxPartings bounds the hooks of a deletion, in bytes: they are kept in the record, so
// that they run where the repository has gone before the application.
const maxPartings = 256 << 10

// removeAll runs the hooks before the deletion, deletes the objects, and runs the hooks
// after it. It says whether there is more to wait for (semantics/gitops §9).
func (a *app) removeAll(ctx context.Context, loops *sync.WaitGroup, in inputs) (more bool, err error) {
	if err := a.settle(ctx, loops); err != nil {
		return true, err
	}
	if a.parting == nil {
		if a.rec.Parting == nil && len(a.rec.Partings) > 0 && len(a.doc.Spec.All()) > 0 {
			_ = a.refresh(ctx, false, true) // those that were rendered last will do
		}
		if a.parting, err = a.rec.partings(); err != nil {
			return true, err
		}
		if err := a.watch(ctx, nil); err != nil {
			return true, err
		}
	}
	if p := a.rec.Parting; p == nil || p.State.Deletion == gitops.PreDelete {
		if done, err := a.part(ctx, gitops.PreDelete, in); !done || err != nil {
			return true, err
		}
		if more, err := a.removeObjects(ctx); more || err != nil {
			return true, err
		}
	}
	done, err := a.part(ctx, gitops.PostDelete, in)
	return !done, err
}

// partings are the hooks of a deletion that are kept.
func (rec *record) partings() (*target, error) {
	t := &target{key: rec.partingsKey()}
	for _, doc := range rec.Partings {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(doc); err != nil {
			return nil, fault.New(fault.Internal, "read the hooks of the deletion: %w", err)
		}
		gvk := o.GroupVersionKind()
		t.objects = append(t.objects, wanted{
			key:     object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()},
			version: gvk.Version, hook: true, notes: o.GetAnnotations(), body: o, generateName: o.GetGenerateName(),
		})
	}
	return t, nil
}

// partingsKey tells the hooks of a deletion from others.
func (rec *record) partingsKey() string {
	sum := sha256.New()
	for _, doc := range rec.Partings {
		sum.Write(doc)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// part has the hooks of a phase of the deletion run, and says whether all of them have
// ended well.
func (a *app) part(ctx context.Context, phase gitops.SyncPhase, in inputs) (done bool, err error) {
	p := a.rec.Parting
	switch {
	case p == nil || p.State.Deletion != phase:
		p = planParting(a, phase, 0)
	case a.rec.stopped():
		again, err := a.partAgain(ctx, p, in)
		if err != nil {
			return false, err
		}
		if again {
			p = planParting(a, phase, p.Attempt+1)
		}
	}
	a.rec.Parting = p
	for {
		actions := p.State.Next(syncing.World{Live: a.world(ctx, p.State)})
		if a.rec.stopped() && p.RetryAt.IsZero() {
			p.RetryAt = a.r.clock().UTC().Add(min(retryFirst<<min(p.Attempt, 6), retryMost))
		}
		if err := a.save(ctx); err != nil {
			return false, err
		}
		if len(actions) == 0 {
			break
		}
		a.perform(ctx, p, a.parting, actions)
		if ctx.Err() != nil {
			return false, nil
		}
	}
	if a.rec.stopped() {
		return false, fault.New(fault.Conflict, "the deletion has stopped, as its %s hooks failed: %s; it goes on when they change or when one that failed is deleted", phase, p.State.Message)
	}
	return p.State.Phase == gitops.OperationSucceeded, nil
}

// stopped says whether hooks have failed, so that the deletion doesn't go on.
func (rec *record) stopped() bool {
	p := rec.Parting
	return p != nil && p.State.Phase.Ended() && p.State.Phase != gitops.OperationSucceeded
}

// stop tells who asked for a removal that it doesn't go on. That of a set waits for its
// end.
func (r *Reconciler) stop(m *removal, why error) {
	if why == nil || m.now {
		return
	}
	r.mu.Lock()
	asked := removal{done: m.done}
	m.done = map[string]func(error){}
	r.mu.Unlock()
	asked.told(why)
}

// planParting begins a phase of the deletion.
func planParting(a *app, phase gitops.SyncPhase, attempt int64) *run {
	p := &run{Operation: gitops.Operation{Sync: &gitops.SyncRequest{}}, Key: a.parting.key, Attempt: attempt}
	r := syncing.Request{Started: a.r.clock().UTC().Truncate(time.Second), Attempt: attempt, Options: a.options(p)}
	if len(a.rec.Revisions) > 0 {
		r.Revision = a.rec.Revisions[0]
	}
	var items []syncing.Item
	for i := range a.parting.objects {
		w := &a.parting.objects[i]
		items = append(items, syncing.Item{Key: w.key, Version: w.version, Annotations: w.notes, GenerateName: w.generateName, Refusal: a.bounds.object(w.key)})
	}
	p.State = syncing.PlanDeletion(phase, r, items)
	return p
}

// partAgain says whether hooks that failed are to run once more: they have changed, one
// of them was deleted by somebody, or the server took none of those that failed.
func (a *app) partAgain(ctx context.Context, p *run, in inputs) (bool, error) {
	now := a.r.clock()
	if len(a.doc.Spec.All()) > 0 && (in.refresh || in.hard || !now.Before(a.pollAt)) {
		_ = a.refresh(ctx, in.hard, in.refresh) // those that were rendered last will do
	}
	if a.rec.partingsKey() != p.Key {
		var err error
		if a.parting, err = a.rec.partings(); err != nil {
			return false, err
		}
		return true, a.watch(ctx, nil)
	}
	made := false
	for _, t := range p.State.Tasks {
		if t.State != gitops.OperationFailed || t.UID == "" {
			continue
		}
		made = true
		if t.Removed {
			continue
		}
		o, err := a.site.cluster.Get(ctx, applying.Named(schema.GroupVersionKind{Group: t.Key.Group, Version: t.Version, Kind: t.Key.Kind}, t.Key))
		if err == nil && (o == nil || string(o.GetUID()) != t.UID) {
			return true, nil
		}
	}
	return !made && !now.Before(p.RetryAt), nil
}
