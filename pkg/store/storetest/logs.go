package storetest

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

func logCases() []testCase {
	return []testCase{
		{"chunks are read in order from a number on", readLog},
		{"the end is read backwards from a number", readLogEnd},
		{"a number that is there stays as it is", appendLogAgain},
		{"a chunk of usual size is kept byte for byte", logBytes},
		{"a log has as many bytes as it may have", logBound},
		{"many writers of one stream lose nothing", raceLog},
	}
}

func (b *bench) chunk(number int, text string) store.LogChunk {
	return store.LogChunk{Stream: b.id("x1/a/1"), Number: int64(number), Data: []byte(text)}
}

func readLog(b *bench) {
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20))
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20, b.chunk(2, "c"), b.chunk(0, "a")))
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20, b.chunk(1, "b"), b.chunk(10, "k")))
	other := b.chunk(0, "other")
	other.Stream = b.id("x1/a/10") // begins like the other one
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20, other))
	for _, c := range []struct {
		from, limit int
		want        []store.LogChunk
	}{
		{0, 0, []store.LogChunk{b.chunk(0, "a"), b.chunk(1, "b"), b.chunk(2, "c"), b.chunk(10, "k")}},
		{0, 2, []store.LogChunk{b.chunk(0, "a"), b.chunk(1, "b")}},
		{2, 5, []store.LogChunk{b.chunk(2, "c"), b.chunk(10, "k")}},
		{11, 5, nil},
	} {
		got, err := b.Store.ReadLog(b.ctx(), b.id("x1/a/1"), int64(c.from), c.limit)
		b.ok(err)
		same(b, fmt.Sprintf("from %d, at most %d", c.from, c.limit), c.want, got)
	}
	none, err := b.Store.ReadLog(b.ctx(), b.id("none"), 0, 10)
	b.ok(err)
	same(b, "a stream that isn't there", nil, none)
}

func readLogEnd(b *bench) {
	for _, n := range []int{2, 0, 1, 10, 100} {
		b.ok(b.Store.AppendLog(b.ctx(), 1<<20, b.chunk(n, fmt.Sprint(n))))
	}
	other := b.chunk(3, "other")
	other.Stream = b.id("x1/a/10")
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20, other))
	for _, c := range []struct {
		before int64
		limit  int
		want   []store.LogChunk
	}{
		{math.MaxInt64, 2, []store.LogChunk{b.chunk(100, "100"), b.chunk(10, "10")}},
		{10, 2, []store.LogChunk{b.chunk(2, "2"), b.chunk(1, "1")}},
		{1, 5, []store.LogChunk{b.chunk(0, "0")}},
		{0, 5, nil},
	} {
		got, err := b.Store.LogEnd(b.ctx(), b.id("x1/a/1"), c.before, c.limit)
		b.ok(err)
		same(b, fmt.Sprintf("the last %d before %d", c.limit, c.before), c.want, got)
	}
}

func appendLogAgain(b *bench) {
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20, b.chunk(0, "a")))
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20, b.chunk(0, "changed"), b.chunk(1, "b")))
	got, err := b.Store.ReadLog(b.ctx(), b.id("x1/a/1"), 0, 10)
	b.ok(err)
	same(b, "read", []store.LogChunk{b.chunk(0, "a"), b.chunk(1, "b")}, got)
}

func logBytes(b *bench) {
	data := bytes.Repeat([]byte("{\"m\":\"\xc3\xa9\x00\xff\"}\n"), 5000)
	c := b.chunk(0, "")
	c.Data = data
	b.ok(b.Store.AppendLog(b.ctx(), 1<<20, c))
	got, err := b.Store.ReadLog(b.ctx(), c.Stream, 0, 1)
	b.ok(err)
	if len(got) != 1 || !bytes.Equal(got[0].Data, data) {
		b.Errorf("a chunk of %d bytes didn't come back as it was", len(data))
	}
}

func logBound(b *bench) {
	const most = 10
	data := func(number, size int) store.LogChunk { return b.chunk(number, strings.Repeat("x", size)) }
	b.refused(b.Store.AppendLog(b.ctx(), most, data(0, most+1)), fault.TooLarge)
	b.ok(b.Store.AppendLog(b.ctx(), most, data(0, 4), data(1, 3)))
	b.refused(b.Store.AppendLog(b.ctx(), most, data(2, 2), data(3, 2)), fault.TooLarge)
	b.ok(b.Store.AppendLog(b.ctx(), most, data(2, 3)))
	b.refused(b.Store.AppendLog(b.ctx(), most, data(3, 1)), fault.TooLarge)
	got, err := b.Store.ReadLog(b.ctx(), b.id("x1/a/1"), 0, 10)
	b.ok(err)
	same(b, "read", []store.LogChunk{data(0, 4), data(1, 3), data(2, 3)}, got)
	other := data(0, most)
	other.Stream = b.id("x1/a/2")
	b.ok(b.Store.AppendLog(b.ctx(), most, other))
}

func raceLog(b *bench) {
	b.allSucceed(func(i int) error {
		return b.Store.AppendLog(b.ctx(), 1<<20, b.chunk(i, "x"), b.chunk((i+1)%racers, "x"))
	})
	got, err := b.Store.ReadLog(b.ctx(), b.id("x1/a/1"), 0, 500)
	b.ok(err)
	same(b, "chunks", racers, len(got))
}
