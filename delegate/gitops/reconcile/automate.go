package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/window"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// calm is how long after a correction the next one of an object is as the first.
	calm = 10 * time.Minute
	// healFirst, healFactor and healMost say how corrections of an object move apart.
	healFirst, healFactor, healMost = 2 * time.Second, 3, 5 * time.Minute
	// fight is from how many corrections on people are told.
	fight = 3
)

// automate begins what the application's policy asks for, if that is anything, and
// says when to look again (semantics/gitops §7).
func (a *app) automate(ctx context.Context) (begun bool, wake time.Time) {
	a.doing = nil
	a.calmDown()
	policy := a.doc.Spec.SyncPolicy
	if !policy.On() || a.target == nil || a.rec.Run != nil || !a.drifted {
		return false, time.Time{}
	}
	if why := a.bounds.blocked(window.Asked{}, a.r.clock()); why != "" {
		a.doing = append(a.doing, gitops.Condition{Type: gitops.ConditionSyncWindow, Message: why})
		return false, time.Time{}
	}
	auto := policy.Automated
	tried := a.rec.Tried
	if tried == nil || tried.Key != a.target.key {
		return a.syncAll(ctx, auto), time.Time{}
	}
	if tried.Phase != gitops.OperationSucceeded {
		a.doing = append(a.doing, gitops.Condition{
			Type: gitops.ConditionSyncError, Message: fmt.Sprintf("Failed last sync attempt to [%s]: %s", revisionsOf(a.target.revisions), tried.Message),
		})
		return false, time.Time{}
	}
	if !auto.SelfHeal {
		return false, time.Time{}
	}
	return a.heal(ctx, auto)
}

func revisionsOf(all []string) string { return strings.Join(all, ", ") }

// syncAll begins a sync of the whole target.
func (a *app) syncAll(ctx context.Context, auto *gitops.Automated) bool {
	if slices.ContainsFunc(a.found, func(c gitops.Condition) bool { return c.Type == gitops.ConditionComparisonError }) {
		return false // what the target is now isn't known
	}
	applies := slices.ContainsFunc(a.rec.Status.Resources, func(r gitops.ResourceStatus) bool { return r.Status == gitops.OutOfSync && !r.RequiresPruning })
	if !applies && !auto.Prune {
		return false
	}
	if len(a.target.index) == 0 && auto.Prune && !auto.AllowEmpty {
		a.doing = append(a.doing, gitops.Condition{
			Type: gitops.ConditionSyncError, Message: "the target has no objects, and an automated sync would delete all that there are; allowEmpty: true allows it",
		})
		return false
	}
	a.begin(ctx, a.automated(&gitops.SyncRequest{Prune: auto.Prune}), false)
	return true
}

// automated is an operation that nobody asked for.
func (a *app) automated(r *gitops.SyncRequest) gitops.Operation {
	r.Revision, r.Revisions = "", nil
	return gitops.Operation{Sync: r, InitiatedBy: gitops.Initiator{Automated: true}}
}

// heal corrects the objects that have drifted. One that drifts again and again is
// given more and more time.
func (a *app) heal(ctx context.Context, auto *gitops.Automated) (begun bool, wake time.Time) {
	now := a.r.clock()
	var ready []object.Key
	for _, r := range a.rec.Status.Resources {
		if r.Status != gitops.OutOfSync || r.RequiresPruning && !auto.Prune || slices.Contains(a.shared, r.Key) {
			continue
		}
		if o, there := a.seen(r.Key); there && o.Deleting {
			continue // it goes, and what comes of it is seen then
		}
		h := a.healed(r.Key)
		if h.Times >= fight {
			a.doing = append(a.doing, gitops.Condition{
				Type:    gitops.ConditionDriftFight,
				Message: fmt.Sprintf("%s was corrected %d times within %s of each other; it is changed by %s", describe(r.Key), h.Times, calm, a.others(ctx, r)),
			})
		}
		at := h.Last.Add(healAfter(h.Times))
		if h.Times > 0 && now.Before(at) {
			wake = earliest(wake, at)
			continue
		}
		ready = append(ready, r.Key)
	}
	if len(ready) == 0 {
		return false, wake
	}
	for _, k := range ready {
		h := a.healed(k)
		h.Times, h.Last = h.Times+1, now.UTC()
	}
	a.begin(ctx, a.automated(&gitops.SyncRequest{Resources: ready, Prune: auto.Prune}), true)
	return true, wake
}

// healAfter is how long to wait for the next correction after some.
func healAfter(times int) time.Duration {
	wait := healFirst
	for range min(times, 10) - 1 {
		wait *= healFactor
	}
	return min(wait, healMost)
}

// healed is how often an object was corrected.
func (a *app) healed(k object.Key) *heal {
	for i := range a.rec.Heals {
		if a.rec.Heals[i].Key == k {
			return &a.rec.Heals[i]
		}
	}
	a.rec.Heals = append(a.rec.Heals, heal{Key: k})
	return &a.rec.Heals[len(a.rec.Heals)-1]
}

// calmDown forgets corrections of long ago.
func (a *app) calmDown() {
	now := a.r.clock()
	a.rec.Heals = slices.DeleteFunc(a.rec.Heals, func(h heal) bool { return h.Times == 0 || now.Sub(h.Last) > calm })
}

// others are who else changes an object: the field managers that wrote last.
func (a *app) others(ctx context.Context, r gitops.ResourceStatus) string {
	o, err := a.site.cluster.Get(ctx, applying.Named(schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}, r.Key))
	if err != nil || o == nil {
		return "somebody"
	}
	last, name := time.Time{}, "somebody"
	for _, f := range o.GetManagedFields() {
		if f.Manager != object.Manager && f.Subresource == "" && f.Time != nil && !f.Time.Time.Before(last) {
			last, name = f.Time.Time, f.Manager
		}
	}
	return name
}
