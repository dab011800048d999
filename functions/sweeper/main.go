// Command sweeper repairs, on a schedule, what events didn't: executions
// whose machine run is missing or has ended.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

func main() {
	aws.Main(os.LookupEnv, func(p *aws.Parts) lambda.Handler { return function.Sweeper(p.Plane, os.Stdout) })
}
