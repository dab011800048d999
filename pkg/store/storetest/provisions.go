package storetest

import (
	"bytes"
	"errors"
	"sync"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/store"
)

func provisionCases() []testCase {
	return []testCase{
		{"what was provisioned is of its execution, the newest first", listProvisions},
		{"only the holder of a task says what it provisions", strangersProvision},
		{"of two that save one version one does", raceProvision},
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
