package reconcile

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/gitops/window"
)

// Rollback asks for what a sync made live before (semantics/gitops §11).
type Rollback struct {
	History int64 // of the entry; 0: Steps say it
	Steps   int   // so many entries back, of those that differ from all later ones; 0: one
	Prune   bool
	DryRun  bool
	By      string
}

// hold keeps an application, whose syncs are automated, at what it was rolled back
// to. It ends when its sources give something that is neither that nor what it was
// rolled back from.
type hold struct {
	History   int64           `json:"history"`
	Sources   []gitops.Source `json:"sources"`
	Revisions []string        `json:"revisions"`
	Away      string          `json:"away"` // the key of what it was rolled back from
	Key       string          `json:"key,omitempty"`
	By        string          `json:"by,omitempty"`
	At        time.Time       `json:"at"`
	Reason    string          `json:"reason,omitempty"`
	// Manual: only somebody ends it. Until: that time ends it.
	Manual bool      `json:"manual,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// over says whether a hold has ended, as what is tracked is rendered with a key now.
func (h *hold) over(key string, now time.Time) bool {
	switch {
	case h.Manual:
		return false
	case !h.Until.IsZero():
		return !now.Before(h.Until)
	}
	return h.Key != "" && key != h.Key && key != h.Away
}

// readHold reads how long somebody wants an application held.
func readHold(asked protocol.Hold, by string, now time.Time) (*hold, error) {
	h := &hold{By: by, At: now.UTC().Truncate(time.Second), Reason: asked.Reason}
	switch asked.Until {
	case "", protocol.HoldNewCommit:
	case protocol.HoldManual:
		h.Manual = true
	default:
		at, err := time.Parse(time.RFC3339, asked.Until)
		if err != nil {
			return nil, fault.New(fault.Invalid, "until: found %q; want manual, newCommit or a time such as 2026-12-01T08:00:00Z", asked.Until)
		}
		if !at.After(now) {
			return nil, fault.New(fault.Invalid, "until: %s is gone by", asked.Until)
		}
		h.Until = at.UTC()
	}
	return h, nil
}

// Hold keeps an application at what its last sync made live.
func (r *Reconciler) Hold(k Key, asked protocol.Hold, by string) error {
	h, err := readHold(asked, by, r.clock())
	if err != nil {
		return err
	}
	return r.ask(k, func(a *app) error {
		if a.shown == nil || len(a.shown.History) == 0 {
			return fault.New(fault.Conflict, "application %s was never synced; there is nothing to hold it at", k.tracked())
		}
		h.at(a.shown.History[len(a.shown.History)-1])
		a.in.hold, a.in.release, a.in.refresh = h, false, true
		return a.followed()
	})
}

// Release ends the hold of an application, if there is one.
func (r *Reconciler) Release(k Key) error {
	return r.ask(k, func(a *app) error {
		a.in.hold, a.in.release, a.in.refresh = nil, true, true
		return a.followed()
	})
}

// at names what is held.
func (h *hold) at(e gitops.HistoryEntry) {
	h.History, h.Sources, h.Revisions = e.ID, e.Sources, e.Revisions
	if e.Source != nil {
		h.Sources, h.Revisions = []gitops.Source{*e.Source}, []string{e.Revision}
	}
}

// keep begins or ends a hold, as somebody asked.
func (a *app) keep(ctx context.Context, in inputs) {
	switch h := in.hold; {
	case h != nil:
		if a.target != nil {
			h.Away = a.target.key
		}
		if was := a.rec.Hold; was != nil {
			h.Away = was.Away
		}
		a.rec.Hold = h
	case in.release && a.rec.Hold != nil:
		a.rec.Hold = nil
	default:
		return
	}
	if err := a.save(ctx); err != nil {
		a.log.WarnContext(ctx, "the hold isn't kept", "error", err)
	}
}

// Rollback asks for a rollback. The id is the request's, as of Sync.
func (r *Reconciler) Rollback(k Key, id string, b Rollback) error {
	return r.operation(k, id, window.Asked{Manual: true}, func(a *app) error {
		if a.shown == nil {
			return fault.New(fault.Conflict, "application %s was never looked at yet", k.tracked())
		}
		entry, err := entryOf(a.shown.History, b.History, max(1, b.Steps))
		if err != nil {
			return fault.Wrap(err, "application %s", k.tracked())
		}
		a.in.sync = &gitops.Operation{
			InitiatedBy: gitops.Initiator{Username: b.By},
			Sync: &gitops.SyncRequest{
				Revision: entry.Revision, Revisions: entry.Revisions, Source: entry.Source, Sources: entry.Sources, Prune: b.Prune, DryRun: b.DryRun,
				SyncStrategy: &gitops.SyncStrategy{Apply: &gitops.SyncStrategyForce{}},
			},
		}
		a.in.back = &entry
		return nil
	})
}

// entryOf finds an entry of a history: by its id or, if that is 0, by how many steps it is
// before the last. What was live before and after it doesn't count twice.
func entryOf(history []gitops.HistoryEntry, id int64, steps int) (gitops.HistoryEntry, error) {
	if id == 0 {
		var later []gitops.HistoryEntry
		for _, e := range slices.Backward(history) {
			if slices.ContainsFunc(later, func(o gitops.HistoryEntry) bool { return sameTarget(o, e) }) {
				continue
			}
			if len(later) == steps {
				return e, nil
			}
			later = append(later, e)
		}
		return gitops.HistoryEntry{}, fault.New(fault.NotFound, "the history has %d entries that differ, with what is live; a rollback by %d needs one more than that", len(later), steps)
	}
	for _, e := range history {
		if e.ID == id {
			return e, nil
		}
	}
	return gitops.HistoryEntry{}, fault.New(fault.NotFound, "the history has no entry %d", id)
}

// sameTarget says whether two entries made the same live.
func sameTarget(a, b gitops.HistoryEntry) bool {
	return a.Revision == b.Revision && slices.Equal(a.Revisions, b.Revisions) && reflect.DeepEqual(a.Source, b.Source) && reflect.DeepEqual(a.Sources, b.Sources)
}

// holds keeps the application at an entry of its history, if its syncs are automated.
func (a *app) holds(e gitops.HistoryEntry, o gitops.Operation) {
	if !a.doc.Spec.SyncPolicy.On() || o.Sync.DryRun || a.target == nil {
		return
	}
	h := &hold{Away: a.target.key, By: o.InitiatedBy.Username, At: a.r.clock().UTC().Truncate(time.Second)}
	h.at(e)
	if was := a.rec.Hold; was != nil {
		h.Away = was.Away
	}
	a.rec.Hold = h
}

// condition is what people are told of a hold.
func (h *hold) condition() gitops.Condition {
	text := fmt.Sprintf("held at entry %d of the history (%s) by %s", h.History, revisionsOf(h.Revisions), orSomebody(h.By))
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	switch {
	case h.Manual:
		text += "; a sync or a release ends it"
	case !h.Until.IsZero():
		text += "; a sync, a release or " + h.Until.Format(time.RFC3339) + " ends it"
	default:
		text += "; a sync, a release or a commit that changes what is rendered ends it"
	}
	return gitops.Condition{Type: gitops.ConditionHeld, Message: text}
}

func orSomebody(name string) string {
	if name == "" {
		return "somebody"
	}
	return name
}
