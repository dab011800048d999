package reconcile

import (
	"context"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/compare"
	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/gitops/window"
)

// Visit is an application as it was between two of its turns, for somebody who looks
// at it while it goes on.
type Visit struct {
	Cluster   *applying.Cluster
	Resources []gitops.ResourceStatus

	app *app // a copy, which no worker has
}

// Visit waits for the end of an application's turn, and gives it as it is then.
func (r *Reconciler) Visit(ctx context.Context, k Key) (*Visit, error) {
	got := make(chan *app, 1)
	if err := r.ask(k, func(a *app) error { a.in.visits = append(a.in.visits, got); return nil }); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case a := <-got:
		switch {
		case a.rec == nil:
			return nil, fault.New(fault.NotFound, "application %s has gone", k.tracked())
		case a.site == nil || a.target == nil && len(a.rec.Status.Resources) == 0:
			why := "nothing is known of it yet"
			for _, c := range a.found {
				why = c.Message
			}
			return nil, fault.New(fault.Conflict, "application %s: %s", k.tracked(), why)
		}
		return &Visit{Cluster: a.site.cluster, Resources: a.rec.Status.Resources, app: a}, nil
	}
}

// Hand is how somebody changes a live object of the application: as whoever syncs it.
func (v *Visit) Hand() (*applying.Cluster, error) {
	if v.app.bounds == nil {
		return nil, fault.New(fault.Conflict, "the project of application %s isn't known", v.app.key.tracked())
	}
	return v.app.site.hand(v.app.bounds)
}

// Scripts are those by which the application's objects are judged, and what can be
// done to them.
func (v *Visit) Scripts() *script.Kinds { return v.app.docs.Scripts }

// Health says how an object fares; nil: its kind doesn't.
func (v *Visit) Health(ctx context.Context) func(o *unstructured.Unstructured) *gitops.HealthStatus {
	return func(o *unstructured.Unstructured) *gitops.HealthStatus { return v.Scripts().Health(ctx, o.Object) }
}

// visited is a copy of an application for somebody who looks at it.
func (a *app) visited() *app {
	if a.rec == nil {
		return &app{}
	}
	out := &app{
		r: a.r, key: a.key, log: a.log, doc: a.doc, docs: a.docs, site: a.site, bounds: a.bounds, found: slices.Clone(a.found),
		rec: &record{App: a.key, Status: a.rec.Status, Hold: a.rec.Hold, Inventory: inventory{}},
	}
	for k, v := range a.rec.Inventory {
		out.rec.Inventory[k] = v
	}
	if a.target != nil {
		t := *a.target // whose bodies go when there is nothing to do
		t.objects = slices.Clone(t.objects)
		out.target = &t
	}
	return out
}

// wanted is what an application is to be at some revisions, or by manifests that
// somebody brings; without either, what was compared last.
func (v *Visit) wanted(ctx context.Context, q protocol.Look) (*target, error) {
	a := v.app
	asked := q.Revisions
	if q.Revision != "" {
		asked = []string{q.Revision}
	}
	if q.Manifests != "" {
		objects, err := manifest.Objects("manifests", q.Manifests, manifest.Decode)
		if err != nil {
			return nil, err
		}
		return a.prepare(a.doc.Spec.Destination.Namespace, objects)
	}
	if len(asked) == 0 {
		if a.target == nil {
			return nil, fault.New(fault.Conflict, "application %s has never been rendered", a.key.tracked())
		}
		return a.load(ctx, a.target)
	}
	at := slices.Clone(a.doc.Spec.All())
	if len(asked) != len(at) {
		return nil, fault.New(fault.Invalid, "the request names %d revisions; want one for each of the %d sources", len(asked), len(at))
	}
	for i := range asked {
		at[i].TargetRevision = asked[i]
	}
	found, err := a.r.cfg.Sources.Resolve(ctx, source.Wanted{Project: a.doc.Spec.Project, Sources: at, Known: &a.docs.Known, Since: a.r.clock()})
	if err != nil {
		return nil, err
	}
	a.target = nil
	return a.render(ctx, a.doc.Spec.All(), found.Revisions, false)
}

// Manifests are the objects that an application is to have.
func (v *Visit) Manifests(ctx context.Context, q protocol.Look) ([]*unstructured.Unstructured, error) {
	t, err := v.wanted(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for i := range t.objects {
		if w := &t.objects[i]; q.Has(w.key) {
			out = append(out, w.body)
		}
	}
	return out, nil
}

// Differences says of each object that isn't as it is to be what an apply would
// change, by a dry run of the server's (semantics/gitops §6).
func (v *Visit) Differences(ctx context.Context, q protocol.Look) ([]protocol.Difference, error) {
	a := v.app
	t, err := v.wanted(ctx, q)
	if err != nil {
		return nil, err
	}
	rules, err := a.ignored(t, true)
	if err != nil {
		return nil, err
	}
	a.target = t
	all := make([]protocol.Difference, len(t.objects))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range t.objects {
		w := &t.objects[i]
		if o, there := a.seen(w.key); w.hook || !q.Has(w.key) || there && o.App == a.key.tracked() && a.unchanged(w, o) {
			continue
		}
		g.Go(func() error {
			var err error
			if all[i], err = a.difference(ctx, rules, w); err != nil {
				all[i].Message = err.Error()
			}
			return nil
		})
	}
	_ = g.Wait() // they give no errors
	out := slices.DeleteFunc(all, func(d protocol.Difference) bool { return d.Text == "" && d.Message == "" })
	for _, k := range a.extras() {
		if !q.Has(k) {
			continue
		}
		d := protocol.Difference{Key: k, Prune: true}
		live, err := v.Cluster.Get(ctx, applying.Named(schema.GroupVersionKind{Group: k.Group, Version: a.rec.Inventory[k].Version, Kind: k.Kind}, k))
		if err == nil {
			d.Text, err = applying.Difference(live, nil)
		}
		if err != nil {
			d.Message = err.Error()
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b protocol.Difference) int { return compareKeys(a.Key, b.Key) })
	return out, ctx.Err()
}

// difference is what an apply of an object would change.
func (a *app) difference(ctx context.Context, rules *compare.Rules, w *wanted) (protocol.Difference, error) {
	d := protocol.Difference{Key: w.key}
	before, err := a.site.cluster.Get(ctx, w.body)
	if err != nil && !isNoKind(err) {
		return d, err
	}
	if before == nil {
		d.Text, err = applying.Difference(nil, w.body)
		return d, err
	}
	after, err := a.site.cluster.Apply(ctx, w.body, applying.Way{Manager: object.Manager, DryRun: true, Validation: "Ignore"}, io.Discard)
	if err != nil {
		return d, err
	}
	was, is, err := rules.Normal(ctx, before, after)
	if err != nil {
		return d, err
	}
	d.Text, err = applying.Difference(was, is)
	return d, err
}

// Allowed says why a live object may not be changed by somebody now; nil: it may.
func (v *Visit) Allowed(k object.Key) error {
	a := v.app
	if a.bounds == nil {
		return fault.New(fault.Conflict, "the project of application %s isn't known", a.key.tracked())
	}
	if why := a.bounds.object(k); why != "" {
		return fault.New(fault.Forbidden, "%s", why)
	}
	if why := a.bounds.blocked(window.Asked{Manual: true}, a.r.clock()); why != "" {
		return fault.New(fault.Conflict, "%s", why)
	}
	return nil
}

// Heals says whether what somebody changes of the application's own objects is taken
// back.
func (v *Visit) Heals() bool {
	p := v.app.doc.Spec.SyncPolicy
	return p.On() && p.Automated.SelfHeal
}
