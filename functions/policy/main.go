// Command policy evaluates governance policies for the other functions. It has no
// rights and keeps nothing.
package main

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/policy/remote"
)

func main() {
	engine := rego.New()
	lambda.Start(func(ctx context.Context, call json.RawMessage) (json.RawMessage, error) {
		return remote.Answer(ctx, engine, call)
	})
}
