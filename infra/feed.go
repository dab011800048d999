package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// eventBus is where Slipway says what happens (events/README.md), with an
// archive, so that a rule that comes later can be given what was before.
func (c *Compute) eventBus() {
	c.bus = awsevents.NewEventBus(c.Stack, jsii.String("Bus"), &awsevents.EventBusProps{
		EventBusName: jsii.String("slipway-" + c.cfg.Stage), Description: jsii.String("Slipway: what happens"),
	})
	c.bus.Archive(jsii.String("Archive"), &awsevents.BaseArchiveProps{
		ArchiveName: jsii.String(c.cfg.name("events")), Description: jsii.String("Slipway's own events"),
		EventPattern: &awsevents.EventPattern{Source: jsii.Strings("slipway")}, Retention: awscdk.Duration_Days(jsii.Number(30)),
	})
}

// feed gives the function feed what the table's stream has of executions,
// nodes, the audit trail, what triggers did, past versions of files and what policies
// came to; it
// isn't called for the rest.
func (c *Compute) feed() {
	f := c.functions["feed"]
	var filters []any
	for _, prefix := range changedPrefixes() {
		filters = append(filters, &awslambda.CfnEventSourceMapping_FilterProperty{
			Pattern: jsii.String(`{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"` + prefix + `"}]}}}}`),
		})
	}
	// The construct one level above would widen the function's rights.
	awslambda.NewCfnEventSourceMapping(c.Stack, jsii.String("Stream"), &awslambda.CfnEventSourceMappingProps{
		FunctionName: f.FunctionArn(), EventSourceArn: c.state.Table.TableStreamArn(), StartingPosition: jsii.String("TRIM_HORIZON"),
		BatchSize: jsii.Number(100), MaximumBatchingWindowInSeconds: jsii.Number(1),
		FilterCriteria:             &awslambda.CfnEventSourceMapping_FilterCriteriaProperty{Filters: &filters},
		BisectBatchOnFunctionError: jsii.Bool(true), FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"), MaximumRecordAgeInSeconds: jsii.Number(24 * 3600),
		DestinationConfig: &awslambda.CfnEventSourceMapping_DestinationConfigProperty{
			OnFailure: &awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: f.dead.QueueArn()},
		},
	}).Node().AddDependency(f.role)
}

// changedPrefixes is pkg/store/dynamo's ChangedPrefixes; a test compares them.
func changedPrefixes() []string { return []string{"X#", "A#", "F#", "Y#", "PE#"} }
