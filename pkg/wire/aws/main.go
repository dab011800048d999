package aws

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// Main is the main of every function: it makes the parts from the environment
// and serves events. What goes wrong before the first one is said on standard
// error, which Lambda logs.
func Main(lookup func(string) (string, bool), handler func(*Parts) lambda.Handler) {
	MainWith(lookup, nil, handler)
}

// MainWith is Main for a function with parts that no other one has.
func MainWith(lookup func(string) (string, bool), with func(*plane.Parts), handler func(*Parts) lambda.Handler) {
	ctx := context.Background()
	cfg, err := FromEnv(lookup)
	var p *Parts
	if err == nil {
		p, err = New(ctx, cfg, with)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.StartWithOptions(handler(p), lambda.WithContext(ctx))
}
