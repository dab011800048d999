// Command login answers the requests of the HTTP API by which people log in at
// identity providers. It alone has what asks those.
package main

import (
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/oidc"
	"github.com/slipway-cd/slipway/pkg/login/saml"
	"github.com/slipway-cd/slipway/pkg/wire/aws"
	"github.com/slipway-cd/slipway/pkg/wire/function"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

func main() {
	// What listens on loopback here is the function's own runtime.
	ask := func(p *plane.Parts) {
		p.Login = &login.Protocols{Tokens: oidc.New(false, time.Now), Assertions: saml.New(false, time.Now)}
	}
	aws.MainWith(os.LookupEnv, ask, func(p *aws.Parts) lambda.Handler { return function.Logins(p.Plane) })
}
