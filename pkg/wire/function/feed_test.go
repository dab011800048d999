package function_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

// What comes before a record that can't be read is told, and Lambda hears
// where to go on.
func TestFeedGoesOnWhereItFailed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		records string // by their sequence numbers: r is read, - means nothing, ! can't be read
		put     error
		told    string
		answer  string
		retired string
	}{
		"all are told":             {"r-r", nil, "02", `{"batchItemFailures":null}`, "012"},
		"none means anything":      {"--", nil, "", `{"batchItemFailures":null}`, "01"},
		"one can't be read":        {"r!r", nil, "0", `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, "0"},
		"the bus refuses":          {"r", errors.New("refused"), "0", "", ""},
		"the first can't be read":  {"!r", nil, "", `{"batchItemFailures":[{"itemIdentifier":"0"}]}`, ""},
		"the bus refuses the rest": {"r!", errors.New("refused"), "0", "", ""},
		"there is nothing to read": {"", nil, "", `{"batchItemFailures":null}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var records, told, retired, hinted []string
			for i := range tt.records {
				records = append(records, fmt.Sprintf(`{"dynamodb":{"SequenceNumber":"%d"}}`, i))
			}
			handler := function.Feed(function.Stream{
				Change: func(_ context.Context, r events.DynamoDBEventRecord) (*store.Change, error) {
					switch n := r.Change.SequenceNumber; tt.records[n[0]-'0'] {
					case '!':
						return nil, errors.New("it can't be read")
					case '-':
						return nil, nil //nolint:nilnil // of no interest
					default:
						return &store.Change{Node: &store.Node{Execution: n}}, nil
					}
				},
				Read: func(_ context.Context, c store.Change) ([]feed.Event, error) {
					return []feed.Event{{Detail: feed.Detail{ID: c.Node.Execution}}}, nil
				},
				Put: func(_ context.Context, list []feed.Event) error {
					for _, e := range list {
						told = append(told, e.Detail.ID)
					}
					return tt.put
				},
				Superseded: func(r events.DynamoDBEventRecord) []string { return []string{r.Change.SequenceNumber} },
				Touched:    func(events.DynamoDBEventRecord) string { return "x1" },
				Hint:       func(_ context.Context, ids []string) { hinted = append(hinted, ids...) },
				Retire: func(_ context.Context, key string) error {
					retired = append(retired, key)
					return errors.New("it stays")
				},
				Metrics: &bytes.Buffer{}, Log: slog.New(slog.DiscardHandler),
			})
			answer, err := handler.Invoke(t.Context(), []byte(`{"Records":[`+strings.Join(records, ",")+`]}`))
			if (err != nil) != (tt.put != nil) || string(answer) != tt.answer {
				t.Errorf("the answer is %s, %v; want %s", answer, err, tt.answer)
			}
			if got := strings.Join(told, ""); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
			if len(records) > 0 && !slices.Equal(hinted, []string{"x1"}) {
				t.Errorf("pages hear of %v; want x1 once, whatever else fails", hinted)
			}
			if got := strings.Join(retired, ""); got != tt.retired {
				t.Errorf("retired the blobs of %q, want %q: those of what is done", got, tt.retired)
			}
		})
	}
}

func TestFeedCountsExecutions(t *testing.T) {
	t.Parallel()
	ends := []plan.Status{plan.Success, plan.Failed, plan.IgnoreFailed, plan.Aborted}
	var metrics bytes.Buffer
	handler := function.Feed(function.Stream{
		Change: func(context.Context, events.DynamoDBEventRecord) (*store.Change, error) { return &store.Change{}, nil },
		Read: func(context.Context, store.Change) ([]feed.Event, error) {
			list := []feed.Event{{Type: feed.StageEnded, Detail: feed.Detail{Status: plan.Failed}}}
			for _, s := range ends {
				list = append(list, feed.Event{Type: feed.ExecutionEnded, Detail: feed.Detail{Status: s}})
			}
			return list, nil
		},
		Superseded: func(events.DynamoDBEventRecord) []string { return nil },
		Touched:    func(events.DynamoDBEventRecord) string { return "" }, Hint: func(context.Context, []string) {},
		Put: func(context.Context, []feed.Event) error { return nil }, Metrics: &metrics, Log: slog.New(slog.DiscardHandler),
	})
	if _, err := handler.Invoke(t.Context(), []byte(`{"Records":[{}]}`)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ExecutionsEnded":4,`, `"ExecutionsFailed":2,`, `"Dimensions":[["Function"]]`} {
		if !strings.Contains(metrics.String(), want) {
			t.Errorf("the metrics have no %s: %s", want, metrics.String())
		}
	}
	if lines := slices.Collect(strings.Lines(metrics.String())); len(lines) != 1 {
		t.Errorf("%d lines, want 1", len(lines))
	}
}
