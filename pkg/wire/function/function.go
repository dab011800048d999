// Package function makes the handlers of the Lambda functions from a control
// plane: each turns its events into calls and their answers into what Lambda
// wants.
//
// What a call means is the called package's. The mains in functions/ start
// these; "slipway event invoke" gives them single events.
package function

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/eventbridge"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/notify"
	"github.com/slipway-cd/slipway/pkg/repair"
	"github.com/slipway-cd/slipway/pkg/socket"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// API answers requests of the HTTP API, payload format 2.0.
func API(p *plane.Plane) lambda.Handler {
	return lambda.NewHandler(httpadapter.NewV2(p.API()).ProxyWithContext)
}

// Engine answers the Task states of the state machine. Its errors have names
// that the machine's retries know.
func Engine(p *plane.Plane) lambda.Handler {
	return lambda.NewHandler(func(ctx context.Context, call json.RawMessage) (json.RawMessage, error) {
		answer, err := p.Engine.Handle(ctx, call)
		if err != nil {
			return nil, messages.InvokeResponse_Error{Type: engine.ErrorName(err), Message: err.Error()}
		}
		return answer, nil
	})
}

// Connect answers the WebSocket API.
func Connect(l *socket.Lobby) lambda.Handler { return lambda.NewHandler(l.Handle) }

// Events takes in what EventBridge delivers.
func Events(p *plane.Plane, log *slog.Logger) lambda.Handler {
	receiver := eventbridge.Receiver{Repair: p.Repair, Log: log}
	return lambda.NewHandler(receiver.Handle)
}

// Notify takes in what the event bus tells.
func Notify(n *notify.Notifier) lambda.Handler {
	return lambda.NewHandler(func(ctx context.Context, e feed.Envelope) error { return n.Handle(ctx, e.Event()) })
}

// startGrace is how long whoever starts an execution is given to start its
// machine run, before the sweeper does.
const startGrace = 2 * time.Minute

// Sweeper repairs executions, and writes the age of the oldest unclaimed task
// as a metric in CloudWatch's embedded format: a line of the log.
func Sweeper(p *plane.Plane, metrics io.Writer) lambda.Handler {
	return lambda.NewHandler(func(ctx context.Context) (repair.Report, error) {
		report, err := p.Repair.Sweep(ctx, plane.Account, startGrace)
		if err := metric(metrics, "OldestUnclaimedTaskSeconds", report.OldestTask.Seconds()); err != nil {
			return report, err
		}
		return report, err
	})
}

// embedded is CloudWatch's embedded metric format, as far as it is used.
type embedded struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []unit
}

type unit struct{ Name, Unit string }

func metric(w io.Writer, name string, seconds float64) error {
	doc, err := json.Marshal(map[string]any{name: seconds, "_aws": embedded{
		Timestamp:         time.Now().UnixMilli(),
		CloudWatchMetrics: []directive{{Namespace: "Slipway", Dimensions: [][]string{{}}, Metrics: []unit{{name, "Seconds"}}}},
	}})
	if err != nil {
		return fmt.Errorf("encode the metric %s: %w", name, err)
	}
	_, err = fmt.Fprintln(w, string(doc))
	return err
}
