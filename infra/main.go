// Command infra is the CDK app that deploys Slipway on AWS: a stack of what is
// kept, a stack of what runs and, if it is wanted, one of a delegate.
//
// The stage is a context value: cdk synth -c stage=prod. See config.go.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	if err := Build(app); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	app.Synth(nil)
}

// Build adds the stacks to an app, checked by cdk-nag's rules for AWS
// solutions.
func Build(app awscdk.App) error {
	cfg, err := fromContext(app.Node())
	if err != nil {
		return err
	}
	// By these SAM finds the functions in the template, also when it isn't the
	// CDK's command line that runs this.
	for _, key := range []string{"aws:cdk:enable-asset-metadata", "aws:cdk:enable-path-metadata"} {
		app.Node().SetContext(jsii.String(key), jsii.Bool(true))
	}
	state := NewState(app, cfg)
	compute := NewCompute(app, cfg, state)
	if cfg.Delegate != nil {
		NewDelegate(app, cfg, compute)
	}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	for name, value := range map[string]string{"app": "slipway", "stage": cfg.Stage} {
		awscdk.Tags_Of(app).Add(jsii.String(name), jsii.String(value), nil)
	}
	return nil
}
