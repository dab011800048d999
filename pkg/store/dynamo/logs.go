package dynamo

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/store"
)

// AppendLog stores chunks; one that is there already stays as it is.
func (s *Store) AppendLog(ctx context.Context, chunks ...store.LogChunk) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, c := range chunks {
		group.Go(func() error {
			it := chunkAt(c.Stream, c.Number).item()
			it["number"] = num(c.Number)
			var err error
			if it["data"], err = s.packed(ctx, c.Data, largestValue); err != nil {
				return err
			}
			if _, _, err = s.place(ctx, it, missing); err != nil {
				return fmt.Errorf("append chunk %d of log %s: %w", c.Number, c.Stream, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// ReadLog reads a stream's chunks from a number on.
func (s *Store) ReadLog(ctx context.Context, stream string, from int64, limit int) ([]store.LogChunk, error) {
	found, err := s.query(ctx, query{
		pk: logPK(stream), sk: "sk >= :from", values: item{":from": str(numberText(from))}, limit: bounded(limit),
	})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s, found, func(ctx context.Context, s *Store, it item) (store.LogChunk, error) {
		data, err := s.unpacked(ctx, it, "data")
		return store.LogChunk{Stream: stream, Number: number(it, "number"), Data: data}, err
	})
}
