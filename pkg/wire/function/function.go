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
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"github.com/slipway-cd/slipway/pkg/api"
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
	return lambda.NewHandler(inTime(httpadapter.NewV2(api.New(served(p))).ProxyWithContext))
}

// served is what the API answers from. Nobody stays for sockets and streams.
func served(p *plane.Plane) api.Config {
	return api.Config{
		Store: p.Parts.Store, Catalog: p.Catalog, Files: p.Files, Launch: p.Launch, Executions: p.Executions, Tasks: p.Tasks, Ledger: p.Ledger, Issuer: p.Issuer, Triggers: p.Triggers, GitOps: p.GitOps, Stream: p.Stream,
		Timing: p.Timing(), Viewers: p.Parts.Viewers, Now: time.Now, Log: p.Parts.Log, Version: p.Parts.Version, Account: plane.Account, Rates: p.Parts.Rates,
	}
}

// Webhooks answers the requests of the HTTP API that bring deliveries.
func Webhooks(p *plane.Plane) lambda.Handler {
	return lambda.NewHandler(inTime(httpadapter.NewV2(api.NewWebhooks(served(p))).ProxyWithContext))
}

// Logins answers the requests of the HTTP API by which people log in at identity
// providers.
func Logins(p *plane.Plane) lambda.Handler {
	cfg := served(p)
	cfg.Login = p.Login
	return lambda.NewHandler(inTime(httpadapter.NewV2(api.NewLogins(cfg)).ProxyWithContext))
}

// answering is what is kept of a function's time for saying that it is over.
const answering = time.Second

// proxy answers a request of the HTTP API.
type proxy func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// inTime ends a request before Lambda ends the function, whose caller would
// hear of nothing but an internal error.
func inTime(handle proxy) proxy {
	return func(ctx context.Context, r events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if end, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadlineCause(ctx, end.Add(-answering), api.ErrOutOfTime)
			defer cancel()
		}
		return handle(ctx, r)
	}
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
	receiver := eventbridge.Receiver{Repair: p.Repair, Triggers: p.Triggers, Log: log}
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
// as a metric in CloudWatch's embedded format: a line of the log. Then it trims the
// audit trail, and tells people whose tokens are about to end. What asks for AuditStream brings the trail to its destinations
// instead.
func Sweeper(p *plane.Plane, metrics io.Writer) lambda.Handler {
	return lambda.NewHandler(func(ctx context.Context, asked struct {
		DetailType string `json:"detail-type"`
	}) (repair.Report, error) {
		if asked.DetailType == AuditStream {
			late, err := p.Stream.Pass(ctx)
			if late > 0 { // a metric is billed in each hour that has it
				err = errors.Join(err, write(metrics, metric{"AuditStreamLateSeconds", "Seconds", late.Seconds()}))
			}
			return repair.Report{}, err
		}
		report, err := p.Repair.Sweep(ctx, plane.Account, startGrace)
		if err := write(metrics, metric{"OldestUnclaimedTaskSeconds", "Seconds", report.OldestTask.Seconds()}); err != nil {
			return report, err
		}
		return report, errors.Join(err, p.Stream.Trim(ctx), notify.Reminder{Notifier: p.Notifier, Account: plane.Account}.Pass(ctx))
	})
}

// AuditStream is the detail type of what makes the sweeper bring the audit trail to
// its destinations (infra).
const AuditStream = "Audit Stream"
