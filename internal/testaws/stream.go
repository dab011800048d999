package testaws

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/testdynamo"
)

// Mapping is an event source mapping of Lambda: a function gets what a table's
// stream has.
type Mapping struct {
	Function string
	Prefixes []string // of the partition keys that the function is called for
	Batch    int
}

// Map runs mappings for a table that an access key has in the DynamoDB at an
// endpoint, for the test's time. One reader of the table's stream serves all:
// reading is most of what an installation costs DynamoDB Local. A batch that
// fails is given again, from where it failed.
func (h *Host) Map(tb testing.TB, endpoint, accessKey, table string, calls *Recorder, mappings ...Mapping) {
	tb.Helper()
	stream, err := testdynamo.NewStream(tb.Context(), endpoint, accessKey, Region, table)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var running sync.WaitGroup
	queues := make([]*queue, len(mappings))
	for i, m := range mappings {
		queues[i] = &queue{Mapping: m, more: make(chan struct{}, 1)}
		running.Go(func() { h.pump(ctx, queues[i]) })
	}
	running.Go(func() { h.read(ctx, stream, calls.written(), queues) })
	tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// How often a stream is read: soon after something was written, ever more
// seldom while nothing is. Not all writers are seen.
const soon, late = 100 * time.Millisecond, 2 * time.Second

// read gives the queues what a table's stream has.
func (h *Host) read(ctx context.Context, stream *testdynamo.Stream, written <-chan struct{}, queues []*queue) {
	for pause := soon; ; {
		records, err := stream.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.tb.Errorf("read the table's stream: %v", err)
			return
		}
		for _, q := range queues {
			q.add(records)
		}
		if pause = min(2*pause, late); len(records) > 0 {
			pause = 2 * soon
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			continue
		case <-written:
			pause = soon
		}
		select { // several writes are read at once
		case <-ctx.Done():
			return
		case <-time.After(soon):
		}
	}
}

// queue is what a mapping's function has yet to get.
type queue struct {
	Mapping
	more    chan struct{} // there is more
	mu      sync.Mutex
	waiting []json.RawMessage
}

func (q *queue) add(records []json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range records {
		if slices.ContainsFunc(q.Prefixes, func(p string) bool { return strings.HasPrefix(partition(r), p) }) {
			q.waiting = append(q.waiting, r)
			select {
			case q.more <- struct{}{}:
			default:
			}
		}
	}
}

// next is the next batch.
func (q *queue) next() []json.RawMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting[:min(len(q.waiting), q.Batch)]
}

func (q *queue) done(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = q.waiting[n:]
}

// pump invokes a mapping's function with what is in its queue.
func (h *Host) pump(ctx context.Context, q *queue) {
	for pause := soon; ctx.Err() == nil; {
		batch := q.next()
		if len(batch) == 0 {
			select {
			case <-ctx.Done():
			case <-q.more:
			}
			continue
		}
		done := h.batch(ctx, q.Function, batch)
		q.done(done)
		if done == len(batch) {
			pause = soon
			continue
		}
		select { // again after a while
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, late)
	}
}

func partition(record json.RawMessage) string {
	var r struct {
		DynamoDB struct {
			Keys struct {
				PK struct{ S string } `json:"pk"`
			}
		} `json:"dynamodb"`
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return "" // a function that needs it will tell
	}
	return r.DynamoDB.Keys.PK.S
}

// batch gives a function some records, and says how many it has done with.
func (h *Host) batch(ctx context.Context, function string, records []json.RawMessage) int {
	event, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		h.tb.Errorf("encode records: %v", err)
		return len(records)
	}
	result, err := h.Invoke(ctx, function, event)
	if ctx.Err() != nil {
		return 0
	}
	var answer struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err != nil || result.Error != "" || json.Unmarshal(result.Payload, &answer) != nil {
		h.tb.Logf("function %s failed on %d records: %v %s", function, len(records), err, result.Payload)
		return 0
	}
	if len(answer.BatchItemFailures) == 0 {
		return len(records)
	}
	return max(0, slices.IndexFunc(records, func(r json.RawMessage) bool {
		return strings.Contains(string(r), `"`+answer.BatchItemFailures[0].ItemIdentifier+`"`)
	}))
}
