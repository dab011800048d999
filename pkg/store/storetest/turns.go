package storetest

import (
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

func turnCases() []testCase {
	return []testCase{
		{"a queue keeps the order of asking", queueOrder},
		{"asking again changes nothing", askAgain},
		{"many who ask at once all stand in the queue, once", raceTurn},
		{"queues are apart", queuesApart},
	}
}

func (b *bench) holder(name string) store.Holder {
	return store.Holder{Execution: b.id(name), Node: plan.NodeID("pipeline.stages." + name)}
}

func (b *bench) take(name string) []store.Holder {
	b.Helper()
	q, err := b.Store.TakeTurn(b.ctx(), b.id("key"), b.holder(name))
	b.ok(err)
	return q
}

func (b *bench) end(name string) []store.Holder {
	b.Helper()
	q, err := b.Store.EndTurn(b.ctx(), b.id("key"), b.holder(name))
	b.ok(err)
	return q
}

func queueOrder(b *bench) {
	same(b, "after one", []store.Holder{b.holder("z")}, b.take("z"))
	b.take("y")
	same(b, "after three", []store.Holder{b.holder("z"), b.holder("y"), b.holder("x")}, b.take("x"))
	same(b, "after the first went", []store.Holder{b.holder("y"), b.holder("x")}, b.end("z"))
	same(b, "after the last went", []store.Holder{b.holder("y")}, b.end("x"))
	same(b, "after one that wasn't there", []store.Holder{b.holder("y")}, b.end("none"))
	same(b, "after all went", nil, b.end("y"))
	same(b, "anew", []store.Holder{b.holder("z")}, b.take("z"))
}

func askAgain(b *bench) {
	b.take("a")
	b.take("b")
	same(b, "queue", []store.Holder{b.holder("a"), b.holder("b")}, b.take("a"))
	b.end("a")
	same(b, "queue", []store.Holder{b.holder("b"), b.holder("a")}, b.take("a"))
}

func raceTurn(b *bench) {
	b.allSucceed(func(i int) error {
		_, err := b.Store.TakeTurn(b.ctx(), b.id("key"), b.holder(fmt.Sprint(i/2)))
		return err
	})
	q := b.take("0")
	seen := map[store.Holder]bool{}
	for _, h := range q {
		seen[h] = true
	}
	same(b, "holders", racers/2, len(seen))
	same(b, "places", racers/2, len(q))
	b.allSucceed(func(i int) error {
		_, err := b.Store.EndTurn(b.ctx(), b.id("key"), b.holder(fmt.Sprint(i/2)))
		return err
	})
	same(b, "left", nil, b.end("0"))
}

func queuesApart(b *bench) {
	b.take("a")
	q, err := b.Store.TakeTurn(b.ctx(), b.id("other"), b.holder("b"))
	b.ok(err)
	same(b, "the other queue", []store.Holder{b.holder("b")}, q)
	if q := b.take("c"); slices.Contains(q, b.holder("b")) {
		b.Errorf("the queue is %v", q)
	}
}
