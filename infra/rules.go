package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
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
	awsevents.NewRule(c.Stack, jsii.String("Notify"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("notify")), Description: jsii.String("What pipelines' notification rules may ask for"), EventBus: c.bus,
		EventPattern: &awsevents.EventPattern{Source: jsii.Strings("slipway"), DetailType: jsii.Strings(
			"Execution Started", "Execution Paused", "Execution Resumed", "Execution Ended", "Stage Started", "Stage Ended", "Step Ended", "Approval Waiting", "Intervention Waiting",
		)},
		Targets: target(c.functions["notify"]),
	})
	awsevents.NewRule(c.Stack, jsii.String("Sweep"), &awsevents.RuleProps{
		RuleName: jsii.String(c.cfg.name("sweep")), Description: jsii.String("Repairs what events didn't"),
		Schedule: awsevents.Schedule_Rate(awscdk.Duration_Minutes(jsii.Number(5))), Targets: target(c.functions["sweeper"]),
	})
}

// alarms say that something needs a person; docs/playbooks say what to do.
func (c *Compute) alarms(machine awsstepfunctions.StateMachine) {
	topic := awssns.NewTopic(c.Stack, jsii.String("Alarms"), &awssns.TopicProps{
		TopicName: jsii.String(c.cfg.name("alarms")), MasterKey: c.state.Key, EnforceSSL: jsii.Bool(true),
	})
	if c.cfg.Alarms != "" {
		topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(c.cfg.Alarms), nil))
	}
	period := awscdk.Duration_Minutes(jsii.Number(5))
	var widgets []awscloudwatch.IWidget
	alarm := func(id, about, playbook string, metric awscloudwatch.IMetric, above, periods float64) {
		a := awscloudwatch.NewAlarm(c.Stack, jsii.String(id+"Alarm"), &awscloudwatch.AlarmProps{
			AlarmName: jsii.String(c.cfg.name(about)), AlarmDescription: jsii.String("See docs/playbooks/" + playbook + ".md"),
			Metric: metric, Threshold: jsii.Number(above), EvaluationPeriods: jsii.Number(periods),
			ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD, TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
		})
		a.AddAlarmAction(awscloudwatchactions.NewSnsAction(topic))
		widgets = append(widgets, awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
			Title: jsii.String(about), Left: &[]awscloudwatch.IMetric{metric}, Width: jsii.Number(8),
		}))
	}
	alarm("Failed", "failed-runs", "execution-stuck", machine.MetricFailed(&awscloudwatch.MetricOptions{Period: period}), 0, 1)
	alarm("Throttled", "throttled-runs", "execution-stuck", machine.MetricThrottled(&awscloudwatch.MetricOptions{Period: period}), 0, 3)
	alarm("Unclaimed", "oldest-unclaimed-task", "no-eligible-delegate", awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String("Slipway"), MetricName: jsii.String("OldestUnclaimedTaskSeconds"), Statistic: jsii.String("Maximum"), Period: period,
	}), 300, 1)
	alarm("Table", "table-throttled", "database", awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String("AWS/DynamoDB"), MetricName: jsii.String("ThrottledRequests"), Statistic: jsii.String("Sum"), Period: period,
		DimensionsMap: &map[string]*string{"TableName": c.state.Table.TableName()},
	}), 0, 3)
	for _, s := range specs() {
		f := c.functions[s.name]
		alarm(upper(s.name)+"Errors", s.name+"-errors", "execution-stuck", f.MetricErrors(&awscloudwatch.MetricOptions{Period: period}), 0, 3)
		alarm(upper(s.name)+"Throttles", s.name+"-throttles", "execution-stuck", f.MetricThrottles(&awscloudwatch.MetricOptions{Period: period}), 0, 3)
		if f.dead != nil {
			alarm(upper(s.name)+"Dead", s.name+"-dead-letters", "execution-stuck",
				f.dead.MetricApproximateNumberOfMessagesVisible(&awscloudwatch.MetricOptions{Period: period}), 0, 1)
		}
	}
	awscloudwatch.NewDashboard(c.Stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(c.cfg.name("overview")), Widgets: &[]*[]awscloudwatch.IWidget{&widgets},
	})
}
