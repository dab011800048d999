package storetest

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// RunChanges is the suite of what a store's writes tell others. open gives a
// store of the test's own, and what gives the next changes of it, once each.
func RunChanges(t *testing.T, open func(*testing.T) (store.Store, func() []store.Change)) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*bench, func() []store.Change)
	}{
		{"an execution lives", executionChanges},
		{"a node lives", nodeChanges},
		{"people change things", auditChanges},
		{"a trigger starts nothing", fireChanges},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, next := open(t)
			c.run(&bench{T: t, Store: s, account: "acme"}, next)
		})
	}
}

// changed compares the next changes; when they happened is the store's clock's.
func (b *bench) changed(next func() []store.Change, want ...store.Change) {
	b.Helper()
	got := next()
	for i := range got {
		if got[i].At.IsZero() {
			b.Errorf("change %d has no time", i)
		}
		got[i].At, got[i].Position = want[min(i, len(want)-1)].At, 0
	}
	same(b, "changes", want, got)
}

func executionChanges(b *bench, next func() []store.Change) {
	e := b.create(b.execution("x1"))
	records, err := b.Store.ListAudit(b.ctx(), b.account, 1, 10)
	b.ok(err)
	got := next() // the execution and its audit record, in either order
	if len(got) != 2 || (got[0].Execution == nil) == (got[1].Execution == nil) {
		b.Fatalf("a start makes the changes %+v, want the execution and its record", got)
	}
	for _, c := range got {
		if c.Execution != nil {
			same(b, "created", &e, c.Execution)
		} else {
			same(b, "record", &records[0], c.Audit)
		}
		same(b, "before", "", c.Before)
	}
	b.create(b.execution("x1")) // is there already
	marked, err := b.Store.SetInterrupt(b.ctx(), e.ID, store.InterruptAbort, b.record(audit.Abort, e.ID))
	b.ok(err)
	if got := next(); len(got) != 1 || got[0].Audit == nil || got[0].Audit.Action != audit.Abort {
		b.Fatalf("an interrupt makes the changes %+v, want its record", got)
	}
	ended := marked
	ended.Status, ended.Message, ended.EndedAt = plan.Aborted, "stopped", at(9)
	b.refused(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &e}), fault.StaleVersion)
	b.ok(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &ended}))
	ended.Version++
	b.changed(next, store.Change{Before: plan.Running, Execution: &ended})
}

func nodeChanges(b *bench, next func() []store.Change) {
	n := b.node("pipeline.stages.a", plan.Running)
	n.State.Message = "begun"
	b.commit(n)
	n.Version = 1
	b.changed(next, store.Change{Node: &n})
	n.State.Message = "still the same status"
	b.commit(n)
	n.Version = 2
	if got := next(); len(got) > 0 {
		b.Fatalf("a commit without another status makes the changes %+v", got)
	}
	other := b.node("pipeline.stages.b", plan.ApprovalWaiting)
	stale := n
	stale.Version = 1
	b.refused(b.Store.CommitExecution(b.ctx(), n.Execution, store.Commit{Nodes: []store.Node{other, stale}}), fault.StaleVersion)
	if got := next(); len(got) > 0 {
		b.Fatalf("a refused commit makes the changes %+v", got)
	}
	n.State = plan.State{Status: plan.Failed, EndedAt: at(3)}
	b.commit(n)
	n.Version = 3
	b.changed(next, store.Change{Before: plan.Running, Node: &n})
}

func auditChanges(b *bench, next func() []store.Change) {
	e, err := b.Store.SaveEntity(b.ctx(), b.entity(ref.Service, "shop"), b.record(audit.Create, "shop"))
	b.ok(err)
	b.ok(b.Store.DeleteEntity(b.ctx(), e.Key, e.Version, b.record(audit.Delete, "shop")))
	b.refused(b.Store.DeleteEntity(b.ctx(), e.Key, e.Version, b.record(audit.Delete, "shop")), fault.NotFound)
	records, err := b.Store.ListAudit(b.ctx(), b.account, 1, 10)
	b.ok(err)
	b.changed(next, store.Change{Audit: &records[0]}, store.Change{Audit: &records[1]})
}

// Only what failed is told, and the same once.
func fireChanges(b *bench, next func() []store.Change) {
	trigger := store.EntityKey{Scope: ref.Scope{Account: b.account, Org: "o", Project: "p"}, Kind: ref.Trigger, ID: "on_push", Env: "deploy"}
	failed := store.Fire{Trigger: trigger, ID: "e1", At: at(1), Outcome: store.FireFailed, Reason: "there is no input set x", Subject: "main"}
	b.ok(b.Store.PutFire(b.ctx(), store.Fire{Trigger: trigger, ID: "e0", At: at(0), Outcome: store.FireStarted, Execution: "x1"}))
	b.ok(b.Store.PutFire(b.ctx(), store.Fire{Trigger: trigger, ID: "e2", At: at(2), Outcome: store.FireSkipped, Reason: "another branch"}))
	b.ok(b.Store.PutFire(b.ctx(), failed))
	b.ok(b.Store.PutFire(b.ctx(), failed))
	b.changed(next, store.Change{Fire: &failed})
}
