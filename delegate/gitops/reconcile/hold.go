package reconcile

import (
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// Rollback asks for what a sync made live before (semantics/gitops §11).
type Rollback struct {
	History int64 // of the entry; 0: the one before the last
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
}

// Rollback asks for a rollback. The id is the request's, as of Sync.
func (r *Reconciler) Rollback(k Key, id string, b Rollback) error {
	return r.operation(k, id, func(a *app) error {
		if a.shown == nil {
			return fault.New(fault.Conflict, "application %s was never looked at yet", k.tracked())
		}
		entry, err := entryOf(a.shown.History, b.History)
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

// entryOf finds an entry of a history.
func entryOf(history []gitops.HistoryEntry, id int64) (gitops.HistoryEntry, error) {
	if id == 0 {
		if len(history) < 2 {
			return gitops.HistoryEntry{}, fault.New(fault.NotFound, "the history has %d entries; a rollback needs one before the last", len(history))
		}
		return history[len(history)-2], nil
	}
	for _, e := range history {
		if e.ID == id {
			return e, nil
		}
	}
	return gitops.HistoryEntry{}, fault.New(fault.NotFound, "the history has no entry %d", id)
}

// holds keeps the application at an entry of its history, if its syncs are automated.
func (a *app) holds(e gitops.HistoryEntry, o gitops.Operation) {
	if !a.doc.Spec.SyncPolicy.On() || o.Sync.DryRun || a.target == nil {
		return
	}
	h := &hold{History: e.ID, Sources: e.Sources, Revisions: e.Revisions, Away: a.target.key, By: o.InitiatedBy.Username, At: a.r.clock().UTC().Truncate(time.Second)}
	if e.Source != nil {
		h.Sources, h.Revisions = []gitops.Source{*e.Source}, []string{e.Revision}
	}
	if was := a.rec.Hold; was != nil {
		h.Away = was.Away
	}
	a.rec.Hold = h
}

// condition is what people are told of a hold.
func (h *hold) condition() gitops.Condition {
	return gitops.Condition{
		Type:    gitops.ConditionHeld,
		Message: fmt.Sprintf("held at entry %d of the history (%s) since the rollback by %s; a sync, or a commit that changes what is rendered, releases it", h.History, revisionsOf(h.Revisions), orSomebody(h.By)),
	}
}

func orSomebody(name string) string {
	if name == "" {
		return "somebody"
	}
	return name
}
