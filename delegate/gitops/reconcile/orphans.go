package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/look"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// orphansEvery is how often a project's applications look for objects that belong to
// nobody.
const orphansEvery = 10 * time.Minute

// orphans is what an application knows of the objects in its namespace that belong to
// nobody.
type orphans struct {
	by    *gitops.OrphanedResources // of its project; nil: nobody looks
	in    string                    // the namespace
	next  time.Time
	count int
	found []gitops.Condition
}

// look looks from time to time, and says when it does next; zero: never.
func (o *orphans) look(ctx context.Context, a *app, again bool) time.Time {
	by, in, now := a.bounds.orphans, a.doc.Spec.Destination.Namespace, a.r.clock()
	if by == nil || in == "" {
		*o = orphans{}
		return time.Time{}
	}
	if !again && o.by == by && o.in == in && now.Before(o.next) {
		return o.next
	}
	o.by, o.in, o.next = by, in, now.Add(orphansEvery)
	all, err := orphaned(ctx, a)
	switch {
	case err != nil:
		o.found = []gitops.Condition{{Type: gitops.ConditionOrphanedResource, Message: "objects that belong to nobody can't be looked for: " + err.Error()}}
	case len(all) > 0 && (by.Warn == nil || *by.Warn):
		o.count = len(all)
		o.found = []gitops.Condition{{Type: gitops.ConditionOrphanedResource, Message: fmt.Sprintf("Application has %d orphaned resources", len(all))}}
	default:
		o.count, o.found = len(all), nil
	}
	return o.next
}

// orphaned are the objects of an application's namespace that belong to nobody and that
// its project doesn't leave out.
func orphaned(ctx context.Context, a *app) ([]protocol.Node, error) {
	return look.Orphans(ctx, a.site.cluster, a.doc.Spec.Destination.Namespace, func(k object.Key) bool {
		return !a.excluded(k.Group, k.Kind) && a.bounds.rules.Object(k, a.bounds.cluster) == nil && !a.bounds.rules.Ignored(k)
	})
}

// Orphans are those, if the application's project has them looked for.
func (v *Visit) Orphans(ctx context.Context) ([]protocol.Node, error) {
	if v.app.bounds == nil || v.app.bounds.orphans == nil || v.app.doc.Spec.Destination.Namespace == "" {
		return nil, nil
	}
	return orphaned(ctx, v.app)
}
