package testaws

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
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

// Map runs a mapping for a table that an access key has in the DynamoDB at an
// endpoint, for the test's time. A batch that fails is given again, from where it failed.
func (h *Host) Map(tb testing.TB, m Mapping, endpoint, accessKey, table string) {
	tb.Helper()
	stream, err := testdynamo.NewStream(tb.Context(), endpoint, accessKey, Region, table)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.pump(ctx, m, stream)
	}()
	tb.Cleanup(func() {
		cancel()
		<-ended
	})
}

func (h *Host) pump(ctx context.Context, m Mapping, stream *testdynamo.Stream) {
	const soon, late = 200 * time.Millisecond, 2 * time.Second
	var waiting []json.RawMessage
	for pause := soon; ; pause = min(2*pause, late) { // installations whose tests wait for their turn cost little
		records, err := stream.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.tb.Errorf("read the table's stream: %v", err)
			return
		}
		if len(records) > 0 {
			pause = soon
		}
		for _, r := range records {
			if slices.ContainsFunc(m.Prefixes, func(p string) bool { return strings.HasPrefix(partition(r), p) }) {
				waiting = append(waiting, r)
			}
		}
		for len(waiting) > 0 && ctx.Err() == nil {
			some := min(len(waiting), m.Batch)
			done := h.batch(ctx, m.Function, waiting[:some])
			if waiting = waiting[done:]; done < some {
				break // again after the pause
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
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
