package aws

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

// Main is the main of every function: it makes the parts from the environment
// and serves events. What goes wrong before the first one is said on standard
// error, which Lambda logs.
func Main(lookup func(string) (string, bool), handler func(*Parts) lambda.Handler) {
	ctx := context.Background()
	cfg, err := FromEnv(lookup)
	var p *Parts
	if err == nil {
		p, err = New(ctx, cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.StartWithOptions(handler(p), lambda.WithContext(ctx))
}
