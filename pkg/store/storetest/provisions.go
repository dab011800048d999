package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

func provisionCases() []testCase {
	return []testCase{
		{"what was provisioned is of its execution, the newest first", listProvisions},
		{"only the holder of a task says what it provisions", strangersProvision},
		{"of two that save one version one does", raceProvision},
		{"provisioners are listed page by page, each with what was done last", listProvisioners},
		{"what was provisioned is forgotten as it was read, and that is audited", forgetProvisions},
	}
}

func (b *bench) provision(t store.Task, execution string, second int) store.Provision {
	return store.Provision{
		Key: store.ProvisionerKey{Scope: b.scope(), Kind: "cloudformation", Identifier: "web.prod"}, Execution: b.id(execution),
		Step: "pipeline.stages.a.spec.execution.steps.s", Task: t.ID, Status: provision.Begun, At: at(second),
		Place: []byte(`{"stack":"web"}`), Before: []byte("sealed before"),
	}
}

func listProvisions(b *bench) {
	t, fence := b.heldTask("t1")
	save := func(p store.Provision, forget ...string) store.Provision {
		b.Helper()
		saved, err := b.Store.SaveProvision(b.ctx(), p, b.id("d1"), fence, forget)
		b.ok(err)
		p.Version++
		same(b, "saved", p, saved)
		return saved
	}
	key := b.provision(t, "x1", 1).Key
	kept := func(want ...store.Provision) {
		b.Helper()
		got, err := b.Store.ListProvisions(b.ctx(), key)
		b.ok(err)
		same(b, "kept", want, got)
	}
	kept()
	first := save(b.provision(t, "x1", 1))
	kept(first)
	first.Status, first.At, first.Inputs = provision.Applied, at(3), bytes.Repeat([]byte("\xff\x00"), 300<<10) // larger than an item
	first.Before = bytes.Repeat([]byte("\x00\xff"), 150<<10)
	first = save(first)
	second := save(b.provision(t, "x2", 2))
	kept(first, second)
	for _, other := range []func(*store.ProvisionerKey){
		func(k *store.ProvisionerKey) { k.Kind = "cloud" },
		func(k *store.ProvisionerKey) { k.Identifier = "web" },
		func(k *store.ProvisionerKey) { k.Identifier = "web.prod.eu" },
		func(k *store.ProvisionerKey) { k.Workspace = "blue" },
		func(k *store.ProvisionerKey) { k.Scope.Project = "shop" },
	} {
		p := b.provision(t, "x1", 1)
		other(&p.Key)
		save(p)
	}
	kept(first, second)
	third := save(b.provision(t, "x3", 4), b.id("x2"), b.id("x0"))
	kept(third, first)
}

func listProvisioners(b *bench) {
	t, fence := b.heldTask("t1")
	var want []store.Provision
	save := func(kind task.Kind, identifier, workspace string, seconds ...int) {
		b.Helper()
		var last store.Provision
		for i, second := range seconds {
			p := b.provision(t, fmt.Sprint("x", i), second)
			p.Key.Kind, p.Key.Identifier, p.Key.Workspace = kind, identifier, workspace
			saved, err := b.Store.SaveProvision(b.ctx(), p, b.id("d1"), fence, nil)
			b.ok(err)
			if saved.Before = nil; saved.At.After(last.At) {
				last = saved
			}
		}
		want = append(want, last)
	}
	list := func(limit int) []store.Provision {
		b.Helper()
		return everyPage(b, limit, func(page store.Page) ([]store.Provision, string, error) {
			return b.Store.ListProvisioners(b.ctx(), b.scope(), page)
		})
	}
	same(b, "before", nil, list(1))
	save("awscdk", "web", "", 1)
	save("cloudformation", "web", "", 2, 5, 3) // its newest is neither its first nor its last
	save("cloudformation", "web", "blue", 9, 8)
	save("cloudformation", "web", "blue-2", 4)
	save("cloudformation", "web-2", "", 1, 2, 3, 4)
	save("cloudformation", "web.prod", "", 7)
	other := b.provision(t, "x1", 1)
	other.Key.Scope.Project = "shop"
	_, err := b.Store.SaveProvision(b.ctx(), other, b.id("d1"), fence, nil)
	b.ok(err)
	for _, limit := range []int{1, 2, 3, 6, 100} {
		same(b, fmt.Sprint("in pages of ", limit), want, list(limit))
	}
	_, _, err = b.Store.ListProvisioners(b.ctx(), b.scope(), store.Page{Token: "guess"})
	b.refused(err, fault.Invalid)
}

func forgetProvisions(b *bench) {
	t, fence := b.heldTask("t1")
	var known []store.Provision
	for i, execution := range []string{"x1", "x2"} {
		saved, err := b.Store.SaveProvision(b.ctx(), b.provision(t, execution, 2-i), b.id("d1"), fence, nil)
		b.ok(err)
		known = append(known, saved)
	}
	other := b.provision(t, "x1", 1)
	other.Key.Identifier = "web.prod.eu"
	other, err := b.Store.SaveProvision(b.ctx(), other, b.id("d1"), fence, nil)
	b.ok(err)
	left := func(want ...store.Provision) {
		b.Helper()
		got, err := b.Store.ListProvisions(b.ctx(), known[0].Key)
		b.ok(err)
		same(b, "left", want, got)
	}
	asRead := slices.Clone(known)
	known[1].Status = provision.Applied
	known[1], err = b.Store.SaveProvision(b.ctx(), known[1], b.id("d1"), fence, nil)
	b.ok(err)
	b.refused(b.Store.ForgetProvisions(b.ctx(), asRead, b.record(audit.Delete, "web")), fault.StaleVersion)
	left(known...)
	b.audited()
	b.ok(b.Store.ForgetProvisions(b.ctx(), known, b.record(audit.Delete, "web")))
	left()
	b.audited(audit.Delete)
	b.refused(b.Store.ForgetProvisions(b.ctx(), known, b.record(audit.Delete, "web")), fault.StaleVersion)
	got, err := b.Store.ListProvisions(b.ctx(), other.Key)
	b.ok(err)
	same(b, "another provisioner's", []store.Provision{other}, got)
}

func strangersProvision(b *bench) {
	t, fence := b.heldTask("t1")
	p := b.provision(t, "x1", 1)
	_, err := b.Store.SaveProvision(b.ctx(), p, b.id("d2"), fence, nil)
	b.refused(err, fault.LeaseLost)
	_, err = b.Store.SaveProvision(b.ctx(), p, b.id("d1"), fence+1, nil)
	b.refused(err, fault.LeaseLost)
	stale := p
	stale.Version = 1
	_, err = b.Store.SaveProvision(b.ctx(), stale, b.id("d1"), fence, nil)
	b.refused(err, fault.StaleVersion)
	_, err = b.Store.CancelTask(b.ctx(), t.ID)
	b.ok(err)
	_, err = b.Store.SaveProvision(b.ctx(), p, b.id("d1"), fence, nil)
	b.refused(err, fault.LeaseLost)
	none, err := b.Store.ListProvisions(b.ctx(), p.Key)
	b.ok(err)
	same(b, "kept", 0, len(none))
}

func raceProvision(b *bench) {
	t, fence := b.heldTask("t1")
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = b.Store.SaveProvision(b.ctx(), b.provision(t, "x1", i), b.id("d1"), fence, nil)
		})
	}
	all.Wait()
	saved := 0
	for _, err := range errs {
		if err == nil {
			saved++
			continue
		}
		if !fault.Is(err, fault.StaleVersion) {
			b.Fatal(errors.Join(errs...))
		}
	}
	same(b, "saved", 1, saved)
}
