package storetest

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

func (b *bench) readDelegate(id string) store.Delegate {
	b.Helper()
	d, err := b.Store.Delegate(b.ctx(), b.account, id)
	b.ok(err)
	return d
}

func (b *bench) beat(id string, beat store.Beat) {
	b.Helper()
	b.ok(b.Store.BeatDelegate(b.ctx(), b.account, id, beat))
}

func foreignDelegate(b *bench) {
	d := b.delegate("d1", 1)
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	other := d
	other.TokenID, other.Name = "other", "thief"
	b.refused(b.Store.PutDelegate(b.ctx(), other), fault.Forbidden)
	same(b, "read", d, b.readDelegate(d.ID))
	b.ok(b.Store.DeleteDelegate(b.ctx(), b.account, d.ID))
	winner := b.oneWins(fault.Forbidden, func(i int) error {
		racer := b.delegate("d1", 1)
		racer.TokenID = b.id(time.Duration(i).String())
		return b.Store.PutDelegate(b.ctx(), racer)
	})
	same(b, "whose it is", b.id(time.Duration(winner).String()), b.readDelegate(d.ID).TokenID)
}

func beatDelegate(b *bench) {
	d := b.delegate("d1", 1)
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	for _, beat := range []store.Beat{
		{At: at(5), Running: 2},
		{At: at(6), Quiet: time.Minute},
		{At: at(7), Quiet: time.Minute, Line: 3},
		{At: at(8), Running: 1, Draining: true},
		{At: at(9)}, // an earlier one that comes late: it goes on stopping
	} {
		b.beat(d.ID, beat)
		d = d.Heard(beat)
		same(b, "read", d, b.readDelegate(d.ID))
	}
	if !d.Draining || d.Line != 3 {
		b.Errorf("the delegate is %+v; want it stopping, with line 3", d)
	}
	list, err := b.Store.ListDelegates(b.ctx(), b.account, at(9))
	b.ok(err)
	same(b, "list", []store.Delegate{d}, list)
}

func beatDeleted(b *bench) {
	d := b.delegate("d1", 1)
	b.refused(b.Store.BeatDelegate(b.ctx(), b.account, d.ID, store.Beat{At: at(2)}), fault.NotFound)
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	b.ok(b.Store.DeleteDelegate(b.ctx(), b.account, d.ID))
	b.refused(b.Store.BeatDelegate(b.ctx(), b.account, d.ID, store.Beat{At: at(2), Quiet: time.Minute, Line: 1}), fault.NotFound)
	b.ok(b.Store.UnplugDelegate(b.ctx(), b.account, d.ID, 1, at(2)))
	_, err := b.Store.Delegate(b.ctx(), b.account, d.ID)
	b.refused(err, fault.NotFound)
}

func unplugDelegate(b *bench) {
	d := b.delegate("d1", 1)
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	unplug := func(line int64, second int) {
		b.Helper()
		b.ok(b.Store.UnplugDelegate(b.ctx(), b.account, d.ID, line, at(second)))
		d = d.Unplug(line, at(second))
		same(b, "read", d, b.readDelegate(d.ID))
	}
	beat := func(line int64, second int) {
		b.Helper()
		beat := store.Beat{At: at(second), Quiet: time.Minute, Line: line}
		b.beat(d.ID, beat)
		d = d.Heard(beat)
		same(b, "read", d, b.readDelegate(d.ID))
	}
	beat(1, 2)
	unplug(1, 3)
	same(b, "silence of a closed socket", 0, d.Quiet)
	beat(1, 4) // it was on its way
	same(b, "silence of a closed socket, announced late", 0, d.Quiet)
	beat(2, 5)
	same(b, "silence of the next socket", time.Minute, d.Quiet)
	unplug(1, 6) // heard of late
	same(b, "silence although an earlier socket closed", time.Minute, d.Quiet)
	unplug(2, 7)
	same(b, "silence of no socket", 0, d.Quiet)
	beat(0, 8)
	unplug(0, 9) // of a delegate that doesn't number them
	same(b, "silence without a number", 0, d.Quiet)
}

func raceBeats(b *bench) {
	d := b.delegate("d1", 1)
	b.ok(b.Store.PutDelegate(b.ctx(), d))
	b.allSucceed(func(i int) error {
		if i == racers/2 {
			return b.Store.UnplugDelegate(b.ctx(), b.account, d.ID, 1, at(3))
		}
		return b.Store.BeatDelegate(b.ctx(), b.account, d.ID, store.Beat{At: at(2), Quiet: time.Minute, Line: 1})
	})
	if got := b.readDelegate(d.ID); got.Quiet != 0 || got.Unplugged != 1 || got.Name != d.Name {
		b.Errorf("after beats and the end of their socket the delegate is %+v; want it without silence", got)
	}
	for i, err := range race(func(i int) error {
		if i == racers/2 {
			return b.Store.DeleteDelegate(b.ctx(), b.account, d.ID)
		}
		return b.Store.BeatDelegate(b.ctx(), b.account, d.ID, store.Beat{At: at(4)})
	}) {
		if err != nil && !fault.Is(err, fault.NotFound) {
			b.Errorf("beat %d: %v", i, err)
		}
	}
	_, err := b.Store.Delegate(b.ctx(), b.account, d.ID)
	b.refused(err, fault.NotFound)
}
