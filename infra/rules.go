package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/jsii-runtime-go"
)

// rules bring events to the functions (events/README.md).
func (c *Compute) rules(machine awsstepfunctions.StateMachine) {
	target := func(f *function) *[]awsevents.IRuleTarget {
		return &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(f.Function, &awseventstargets.LambdaFunctionProps{
			DeadLetterQueue: f.dead, RetryAttempts: jsii.Number(8), MaxEventAge: awscdk.Duration_Hours(jsii.Number(1)),
		})}
	}
	awsevents.NewRule(c.Stack, jsii.String("RunEnded"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("run-ended")), Description: jsii.String("Machine runs that didn't succeed"),
		EventPattern: &awsevents.EventPattern{
			Source: jsii.Strings("aws.states"), DetailType: jsii.Strings("Step Functions Execution Status Change"),
			Detail: &map[string]any{
				"stateMachineArn": []any{machine.StateMachineArn()}, "status": []any{"FAILED", "TIMED_OUT", "ABORTED"},
			},
		},
		Targets: target(c.functions["events"]),
	})
	awsevents.NewRule(c.Stack, jsii.String("Minute"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("minute")), Description: jsii.String("Fires the schedules of triggers"),
		Schedule: awsevents.Schedule_Rate(awscdk.Duration_Minutes(jsii.Number(1))), Targets: target(c.functions["events"]),
	})
	awsevents.NewRule(c.Stack, jsii.String("ImagePushed"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("image-pushed")), Description: jsii.String("New images in ECR fire artifact triggers"),
		EventPattern: &awsevents.EventPattern{
			Source: jsii.Strings("aws.ecr"), DetailType: jsii.Strings("ECR Image Action"),
			Detail: &map[string]any{"action-type": []any{"PUSH"}, "result": []any{"SUCCESS"}},
		},
		Targets: target(c.functions["events"]),
	})
	awsevents.NewRule(c.Stack, jsii.String("ImageAvailable"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("image-available")), Description: jsii.String("New machine images fire artifact triggers"),
		EventPattern: &awsevents.EventPattern{
			Source: jsii.Strings("aws.ec2"), DetailType: jsii.Strings("EC2 AMI State Change"),
			Detail: &map[string]any{"State": []any{"available"}},
		},
		Targets: target(c.functions["events"]),
	})
	var objects *map[string]any
	if c.cfg.ArtifactBuckets != nil {
		objects = &map[string]any{"bucket": map[string]any{"name": c.cfg.ArtifactBuckets}}
	}
	awsevents.NewRule(c.Stack, jsii.String("ObjectCreated"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("object-created")), Description: jsii.String("New objects in S3 fire artifact triggers"),
		EventPattern: &awsevents.EventPattern{
			Source: jsii.Strings("aws.s3"), DetailType: jsii.Strings("Object Created"), Detail: objects,
		},
		Targets: target(c.functions["events"]),
	})
	awsevents.NewRule(c.Stack, jsii.String("Notify"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("notify")), Description: jsii.String("What pipelines' notification rules may ask for"), EventBus: c.bus,
		EventPattern: &awsevents.EventPattern{Source: jsii.Strings("slipway"), DetailType: jsii.Strings(
			"Execution Started", "Execution Paused", "Execution Resumed", "Execution Ended", "Stage Started", "Stage Ended", "Step Ended", "Approval Waiting", "Intervention Waiting",
			"Input Waiting", "Trigger Failed",
		)},
		Targets: target(c.functions["notify"]),
	})
	awsevents.NewRule(c.Stack, jsii.String("Sweep"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("sweep")), Description: jsii.String("Repairs what events didn't"),
		Schedule: awsevents.Schedule_Rate(awscdk.Duration_Minutes(jsii.Number(5))), Targets: target(c.functions["sweeper"]),
	})
	awsevents.NewRule(c.Stack, jsii.String("AuditStream"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("audit-stream")), Description: jsii.String("Brings the audit trail to its streaming destinations"),
		Schedule: awsevents.Schedule_Rate(awscdk.Duration_Minutes(jsii.Number(1))),
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(c.functions["sweeper"].Function, &awseventstargets.LambdaFunctionProps{
			Event:         awsevents.RuleTargetInput_FromObject(map[string]any{"detail-type": "Audit Stream"}),
			RetryAttempts: jsii.Number(0), MaxEventAge: awscdk.Duration_Minutes(jsii.Number(1)), // the next one is due then
		})},
	})
}
