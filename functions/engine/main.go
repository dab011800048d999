// Command engine answers the Task states of the state machine: what comes
// next in an execution, and the beginning of each wait.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

func main() {
	aws.Main(os.LookupEnv, func(p *aws.Parts) lambda.Handler { return function.Engine(p.Plane) })
}
