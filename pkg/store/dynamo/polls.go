package dynamo

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/store"
)

// polls is store.Polls.
type polls struct{ table *table }

// SavePoll writes one of the version that was read.
func (s polls) SavePoll(ctx context.Context, p store.Poll) (store.Poll, error) {
	lost := store.Stale(fmt.Sprintf("the poll of trigger %s", p.Key.ID), p.Version)
	condition, values := missing, item(nil)
	if p.Version > 0 {
		condition, values = "#version = :read", item{":read": num(p.Version)}
	}
	p.Version++
	it := pollAt(p.Key).item()
	it["version"] = num(p.Version)
	if err := s.table.encode(ctx, it, "doc", p, largestValue); err != nil {
		return store.Poll{}, err
	}
	if err := again(ctx, func() error { return s.table.transact(ctx, s.table.put(it, condition, values, lost)) }); err != nil {
		return store.Poll{}, err
	}
	return p, nil
}

// Poll reads that of a trigger.
func (s polls) Poll(ctx context.Context, trigger store.EntityKey) (store.Poll, error) {
	it, err := s.table.find(ctx, pollAt(trigger), "a poll of trigger %s", trigger.ID)
	if err != nil {
		return store.Poll{}, err
	}
	var p store.Poll
	return p, s.table.decode(ctx, it, "doc", &p)
}

// DeletePoll forgets that of a trigger.
func (s polls) DeletePoll(ctx context.Context, trigger store.EntityKey) error {
	return s.table.drop(ctx, pollAt(trigger), "", nil)
}
