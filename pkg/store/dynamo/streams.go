package dynamo

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/store"
)

// streams is store.Streams.
type streams struct{ table *table }

// Stream reads that of a destination.
func (s streams) Stream(ctx context.Context, account, destination string) (store.Stream, error) {
	it, err := s.table.get(ctx, streamAt(account, destination))
	if err != nil || it == nil {
		return store.Stream{Account: account, Destination: destination}, err
	}
	return readDoc[store.Stream](ctx, s.table.bodies, it)
}

// SaveStream writes one of the version that was read.
func (s streams) SaveStream(ctx context.Context, st store.Stream) (store.Stream, error) {
	lost := store.Stale(fmt.Sprintf("the stream to %s", st.Destination), st.Version)
	condition, values := missing, item(nil)
	if st.Version > 0 {
		condition, values = "#version = :read", item{":read": num(st.Version)}
	}
	st.Version++
	it := streamAt(st.Account, st.Destination).item()
	it["version"] = num(st.Version)
	if err := s.table.encode(ctx, it, "doc", st, largestValue); err != nil {
		return store.Stream{}, err
	}
	if err := again(ctx, func() error { return s.table.transact(ctx, s.table.put(it, condition, values, lost)) }); err != nil {
		return store.Stream{}, err
	}
	return st, nil
}
