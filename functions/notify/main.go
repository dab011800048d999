// Command notify sends the notifications that are due after what the event
// bus tells.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

func main() {
	aws.Main(os.LookupEnv, func(p *aws.Parts) lambda.Handler { return function.Notify(p.Notifier) })
}
