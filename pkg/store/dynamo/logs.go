package dynamo

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/store"
)

// logs is store.Logs.
type logs struct{ table *table }

// AppendLog stores chunks; one that is there already stays as it is. Their bytes
// are counted first: who sends many batches at once has no more room for it.
func (s logs) AppendLog(ctx context.Context, most int64, chunks ...store.LogChunk) error {
	if err := s.grow(ctx, most, chunks); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, c := range chunks {
		group.Go(func() error {
			it := chunkAt(c.Stream, c.Number).item()
			it["number"] = num(c.Number)
			var err error
			if it["data"], err = s.table.packed(ctx, c.Data, largestValue); err != nil {
				return err
			}
			if _, _, err = s.table.place(ctx, it, missing); err != nil {
				return fmt.Errorf("append chunk %d of log %s: %w", c.Number, c.Stream, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// grow counts a log's bytes, if there is room for them.
func (s logs) grow(ctx context.Context, most int64, chunks []store.LogChunk) error {
	if len(chunks) == 0 {
		return nil
	}
	size, stream := int64(0), chunks[0].Stream
	for _, c := range chunks {
		size += int64(len(c.Data))
	}
	if size > most {
		return store.LogFull(stream, most)
	}
	_, counted, err := s.table.change(ctx, logSizeAt(stream), "SET #bytes = if_not_exists(#bytes, :none) + :size",
		"attribute_not_exists(#bytes) OR #bytes <= :room", item{":none": num(0), ":size": num(size), ":room": num(most - size)})
	if err != nil {
		return fmt.Errorf("count the bytes of log %s: %w", stream, err)
	}
	if !counted {
		return store.LogFull(stream, most)
	}
	return nil
}

// ReadLog reads a stream's chunks from a number on.
func (s logs) ReadLog(ctx context.Context, stream string, from int64, limit int) ([]store.LogChunk, error) {
	return s.chunks(ctx, stream, query{
		pk: logPK(stream), sk: "sk >= :from", values: item{":from": str(numberText(from))}, limit: bounded(limit),
	})
}

// LogEnd reads a stream's last chunks before a number, the last one first.
func (s logs) LogEnd(ctx context.Context, stream string, before int64, limit int) ([]store.LogChunk, error) {
	return s.chunks(ctx, stream, query{
		pk: logPK(stream), sk: "sk < :before", values: item{":before": str(numberText(before))}, limit: bounded(limit), backwards: true,
	})
}

func (s logs) chunks(ctx context.Context, stream string, q query) ([]store.LogChunk, error) {
	found, err := s.table.query(ctx, q)
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, func(ctx context.Context, b bodies, it item) (store.LogChunk, error) {
		data, err := b.unpacked(ctx, it, "data")
		return store.LogChunk{Stream: stream, Number: number(it, "number"), Data: data}, err
	})
}
