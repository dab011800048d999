package storetest

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func fireCases() []testCase {
	return []testCase{
		{"fires of a trigger are listed newest first", listFires},
		{"a fire that is stored again is one", putFireAgain},
		{"fires are listed since a time", listFiresSince},
	}
}

func (b *bench) fire(trigger, id string, seconds int) store.Fire {
	return store.Fire{
		Trigger: store.EntityKey{Scope: b.scope(), Kind: ref.Trigger, Env: "deploy", ID: trigger}, ID: id, At: at(seconds),
		Outcome: store.FireStarted, Execution: "x" + id, Subject: "github.com/acme/web refs/heads/main",
	}
}

func listFires(b *bench) {
	want := []store.Fire{b.fire("push", "e/5", 3), b.fire("push", "e#4", 2), b.fire("push", "d", 2), b.fire("push", "c", 1), b.fire("push", "b", 0)}
	other := b.fire("pull", "a", 1)
	for _, f := range append(slices.Clone(want), other) {
		b.ok(b.Store.PutFire(b.ctx(), f))
	}
	for size := 1; size <= len(want)+1; size++ {
		var got []store.Fire
		for page := (store.Page{Limit: size}); ; {
			part, next, err := b.Store.ListFires(b.ctx(), want[0].Trigger, time.Time{}, page)
			b.ok(err)
			got = append(got, part...)
			if next == "" {
				break
			}
			same(b, "fires of a page that isn't the last", size, len(part))
			page.Token = next
		}
		same(b, "fires", want, got)
	}
}

func putFireAgain(b *bench) {
	f := b.fire("push", "a", 0)
	b.ok(b.Store.PutFire(b.ctx(), f))
	f.Outcome, f.Reason, f.Execution = store.FireFailed, "no such pipeline", ""
	b.ok(b.Store.PutFire(b.ctx(), f))
	got, _, err := b.Store.ListFires(b.ctx(), f.Trigger, at(0), store.Page{})
	b.ok(err)
	same(b, "fires", []store.Fire{f}, got)
}

func listFiresSince(b *bench) {
	for seconds, id := range []string{"a", "b", "c"} {
		b.ok(b.Store.PutFire(b.ctx(), b.fire("push", id, seconds)))
	}
	got, next, err := b.Store.ListFires(b.ctx(), b.fire("push", "a", 0).Trigger, at(1), store.Page{Limit: 2})
	b.ok(err)
	same(b, "fires", []store.Fire{b.fire("push", "c", 2), b.fire("push", "b", 1)}, got)
	same(b, "token after the last", "", next)
}
