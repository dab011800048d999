package main

import (
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// suppress lets a finding of cdk-nag be, at one construct, for a reason that
// stands in the template.
func suppress(at constructs.IConstruct, rule, reason string) {
	cdknag.NagSuppressions_AddResourceSuppressions(at, &[]*cdknag.NagPackSuppression{
		{Id: jsii.String(rule), Reason: jsii.String(reason)},
	}, jsii.Bool(true))
}
