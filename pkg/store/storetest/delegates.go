package storetest

import (
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

func delegateCases() []testCase {
	return []testCase{
		{"a registered delegate is read as it was", putDelegate},
		{"a list has those seen since", listDelegates},
		{"many refreshes leave one", raceDelegate},
		{"a deleted delegate is gone", deleteDelegate},
		{"another token can't take a delegate's place", foreignDelegate},
		{"a beat changes what it says and nothing else", beatDelegate},
		{"a beat brings nobody back", beatDeleted},
		{"silence ends with the socket that it relies on", unplugDelegate},
		{"however beats, unplugging and goodbyes meet", raceBeats},
	}
}

func (b *bench) delegate(name string, seen int) store.Delegate {
	return store.Delegate{
		ID: b.id(name), Scope: b.scope(), Name: name, Host: "host", Tags: []string{"linux"}, Version: "1.0", Kinds: []task.Kind{task.KindShell},
		Capacity: 10, Running: 3, TokenID: "tok", LastSeen: at(seen), Quiet: 5 * time.Minute, StartedAt: at(0),
	}
}

func putDelegate(b *bench) {
	d := b.delegate("d1", 1)
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	got, err := b.Store.Delegate(b.ctx(), b.account, d.ID)
	b.ok(err)
	same(b, "read", d, got)
	d.LastSeen, d.Running, d.Draining = at(9), 0, true
	d.Line, d.Unplugged = 2, 1
	d.Binding = &store.Binding{Tags: []string{"linux", "eu"}, NamedSecrets: true}
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	got, err = b.Store.Delegate(b.ctx(), b.account, d.ID)
	b.ok(err)
	same(b, "read after the refresh", d, got)
	_, err = b.Store.Delegate(b.ctx(), b.account+"x", d.ID)
	b.refused(err, fault.NotFound)
	_, err = b.Store.Delegate(b.ctx(), b.account, b.id("none"))
	b.refused(err, fault.NotFound)
}

func listDelegates(b *bench) {
	for i, name := range []string{"d0", "d1", "d2"} {
		b.ok(b.Store.PutDelegate(b.ctx(), b.delegate(name, i*10)))
	}
	for since, want := range map[int][]store.Delegate{
		0:  {b.delegate("d0", 0), b.delegate("d1", 10), b.delegate("d2", 20)},
		10: {b.delegate("d1", 10), b.delegate("d2", 20)},
		11: {b.delegate("d2", 20)},
		21: nil,
	} {
		got, err := b.Store.ListDelegates(b.ctx(), b.account, at(since))
		b.ok(err)
		same(b, fmt.Sprintf("seen since %d", since), want, got)
	}
	got, err := b.Store.ListDelegates(b.ctx(), b.account+"x", at(0))
	b.ok(err)
	same(b, "in another account", nil, got)
}

func raceDelegate(b *bench) {
	b.allSucceed(func(i int) error { return b.Store.PutDelegate(b.ctx(), b.delegate("d1", i)) })
	got, err := b.Store.ListDelegates(b.ctx(), b.account, at(0))
	b.ok(err)
	same(b, "delegates", 1, len(got))
}

func deleteDelegate(b *bench) {
	d := b.delegate("d1", 1)
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	for range 2 {
		b.ok(b.Store.DeleteDelegate(b.ctx(), b.account, d.ID))
	}
	_, err := b.Store.Delegate(b.ctx(), b.account, d.ID)
	b.refused(err, fault.NotFound)
}
