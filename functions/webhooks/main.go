// Command webhooks takes in what Git hosts and others send to triggers.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

func main() {
	aws.Main(os.LookupEnv, func(p *aws.Parts) lambda.Handler { return function.Webhooks(p.Plane) })
}
