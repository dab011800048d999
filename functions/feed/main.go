// Command feed tells the event bus what has happened and pages what has changed, by the
// table's stream.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/slipway-cd/slipway/pkg/feed/bus"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

func main() {
	aws.Main(os.LookupEnv, func(p *aws.Parts) lambda.Handler {
		sdk, cfg := p.SDK()
		events := bus.New(eventbridge.NewFromConfig(sdk), cfg.EventBus)
		return function.Feed(function.Stream{
			Change: p.Store.Change, Read: p.Feed.Events, Put: events.Put, Superseded: dynamo.Superseded, Retire: p.Bucket().Retire,
			Touched: dynamo.Touched, Hint: p.Hints().Tell,
			Metrics: os.Stdout, Log: p.Log,
		})
	})
}
