package function

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Stream is what Feed needs.
type Stream struct {
	Change func(context.Context, events.DynamoDBEventRecord) (*store.Change, error) // nil for a record of no interest
	Read   func(context.Context, store.Change) ([]feed.Event, error)
	Put    func(context.Context, []feed.Event) error
	// Retire gives up a blob that nothing refers to since a record; Superseded
	// says which.
	Superseded func(events.DynamoDBEventRecord) []string
	Retire     func(ctx context.Context, key string) error
	// Hint tells pages that executions have changed; Touched says of a record which one.
	Touched func(events.DynamoDBEventRecord) string
	Hint    func(ctx context.Context, executions []string)
	// Metrics gets how many executions ended, and how many of them badly, as
	// lines of CloudWatch's embedded format.
	Metrics io.Writer
	Log     *slog.Logger
}

// Feed tells the bus what the records of the table's stream mean. Lambda gives
// them in order and, after a failure, again.
func Feed(s Stream) lambda.Handler { return lambda.NewHandler(s.handle) }

// handle answers which record it failed at. What came before it is told.
func (s Stream) handle(ctx context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	var answer events.DynamoDBEventResponse
	var list []feed.Event
	var unused []string
	s.hint(ctx, e.Records)
	for _, r := range e.Records {
		some, err := s.read(ctx, r)
		if err != nil {
			s.Log.ErrorContext(ctx, "a record of the stream wasn't read; it is tried again", "sequence", r.Change.SequenceNumber, "error", err)
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: r.Change.SequenceNumber})
			break
		}
		list = append(list, some...)
		unused = append(unused, s.Superseded(r)...)
	}
	if err := s.Put(ctx, list); err != nil {
		return answer, err
	}
	s.retire(ctx, unused)
	return answer, s.count(list)
}

// hint tells pages of the executions that records have changed, each once. It comes
// before all that may fail: a page that looks once more does no harm.
func (s Stream) hint(ctx context.Context, records []events.DynamoDBEventRecord) {
	var touched []string
	for _, r := range records {
		if id := s.Touched(r); id != "" && !slices.Contains(touched, id) {
			touched = append(touched, id)
		}
	}
	s.Hint(ctx, touched)
}

// retire gives blobs up. One that stays costs little, and is no reason to do
// the records again.
func (s Stream) retire(ctx context.Context, keys []string) {
	for _, key := range keys {
		if err := s.Retire(ctx, key); err != nil {
			s.Log.WarnContext(ctx, "a blob that nothing refers to stays", "key", key, "error", err)
		}
	}
}

// count writes the metrics, unless nothing has ended.
func (s Stream) count(list []feed.Event) error {
	var ended, failed float64
	for _, e := range list {
		if e.Type == feed.ExecutionEnded {
			ended++
			if e.Detail.Status.Bad() {
				failed++
			}
		}
	}
	if ended == 0 {
		return nil
	}
	return write(s.Metrics, metric{"ExecutionsEnded", "Count", ended}, metric{"ExecutionsFailed", "Count", failed})
}

func (s Stream) read(ctx context.Context, r events.DynamoDBEventRecord) ([]feed.Event, error) {
	c, err := s.Change(ctx, r)
	if err != nil || c == nil {
		return nil, err
	}
	return s.Read(ctx, *c)
}
