// Command connect answers the WebSocket API: it lets delegates and pages in.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

func main() {
	aws.Main(os.LookupEnv, func(p *aws.Parts) lambda.Handler { return function.Connect(p.Lobby()) })
}
