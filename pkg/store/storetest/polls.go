package storetest

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/poll"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func pollCases() []testCase {
	return []testCase{
		{"a poll is read as it was saved", savePoll},
		{"of many who save the same version of a poll one wins", racePoll},
		{"a poll that is deleted begins anew", deletePoll},
	}
}

func (b *bench) pollOf(trigger string) store.Poll {
	p := store.Poll{
		Key: store.EntityKey{Scope: b.scope(), Kind: ref.Trigger, Env: "deploy", ID: trigger}, Watcher: "d1", Fence: 3,
		Trigger: "7", Begun: true, Since: at(1), Asked: []string{"ami-1"}, Trouble: "out of reach",
	}
	for i := range poll.MaxSeen {
		p.Seen = append(p.Seen, poll.Hash(fmt.Sprint(i)))
	}
	return p
}

func savePoll(b *bench) {
	p := b.pollOf("push")
	_, err := b.Store.Poll(b.ctx(), p.Key)
	b.refused(err, fault.NotFound)
	saved, err := b.Store.SavePoll(b.ctx(), p)
	b.ok(err)
	p.Version = 1
	same(b, "what is given back", p, saved)
	saved.Watcher, saved.Fence, saved.Seen, saved.Trouble = "", 4, nil, ""
	saved, err = b.Store.SavePoll(b.ctx(), saved)
	b.ok(err)
	other, err := b.Store.SavePoll(b.ctx(), b.pollOf("pull"))
	b.ok(err)
	for _, want := range []store.Poll{saved, other} {
		got, err := b.Store.Poll(b.ctx(), want.Key)
		b.ok(err)
		same(b, "poll", want, got)
	}
	for _, version := range []int64{0, 1, 3} {
		p.Version = version
		_, err = b.Store.SavePoll(b.ctx(), p)
		b.refused(err, fault.StaleVersion)
	}
}

func racePoll(b *bench) {
	p, err := b.Store.SavePoll(b.ctx(), b.pollOf("push"))
	b.ok(err)
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		mine := p
		mine.Watcher = fmt.Sprint("d", i)
		_, err := b.Store.SavePoll(b.ctx(), mine)
		return err
	})
	got, err := b.Store.Poll(b.ctx(), p.Key)
	b.ok(err)
	same(b, "watcher", fmt.Sprint("d", winner), got.Watcher)
}

func deletePoll(b *bench) {
	p := b.pollOf("push")
	b.ok(b.Store.DeletePoll(b.ctx(), p.Key))
	_, err := b.Store.SavePoll(b.ctx(), p)
	b.ok(err)
	b.ok(b.Store.DeletePoll(b.ctx(), p.Key))
	_, err = b.Store.Poll(b.ctx(), p.Key)
	b.refused(err, fault.NotFound)
	_, err = b.Store.SavePoll(b.ctx(), p)
	b.ok(err)
}
