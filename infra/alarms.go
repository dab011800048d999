package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/jsii-runtime-go"
)

// watch makes the alarms and the dashboard.
type watch struct {
	*Compute
	topic  awssns.Topic
	period awscdk.Duration
	rows   []*[]awscloudwatch.IWidget
}

// alarms say that something needs a person; docs/playbooks say what to do. The
// dashboard shows what they look at, and how much goes on.
func (c *Compute) alarms(machine awsstepfunctions.StateMachine) {
	w := &watch{Compute: c, period: awscdk.Duration_Minutes(jsii.Number(5))}
	w.topic = awssns.NewTopic(c.Stack, jsii.String("Alarms"), &awssns.TopicProps{
		TopicName: jsii.String(c.cfg.name("alarms")), MasterKey: c.state.Key, EnforceSSL: jsii.Bool(true),
	})
	if c.cfg.Alarms != "" {
		w.topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(c.cfg.Alarms), nil))
	}
	w.executions(machine)
	w.delivery()
	w.functions()
	awscloudwatch.NewDashboard(c.Stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(c.cfg.name("overview")), Widgets: &w.rows,
	})
}

// alarm rings when the metric is above a number in so many periods on end.
func (w *watch) alarm(id, about, playbook string, metric awscloudwatch.IMetric, above, periods float64) awscloudwatch.IWidget {
	a := awscloudwatch.NewAlarm(w.Stack, jsii.String(id+"Alarm"), &awscloudwatch.AlarmProps{
		AlarmName: jsii.String(w.cfg.name(about)), AlarmDescription: jsii.String("See docs/playbooks/" + playbook + ".md"),
		Metric: metric, Threshold: jsii.Number(above), EvaluationPeriods: jsii.Number(periods),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD, TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	a.AddAlarmAction(awscloudwatchactions.NewSnsAction(w.topic))
	return w.graph(about, metric)
}

func (w *watch) graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: jsii.String(title), Left: &metrics, Width: jsii.Number(8)})
}

// row is a title, and the widgets below it.
func (w *watch) row(title string, widgets ...awscloudwatch.IWidget) {
	heading := []awscloudwatch.IWidget{awscloudwatch.NewTextWidget(&awscloudwatch.TextWidgetProps{
		Markdown: jsii.String("## " + title), Width: jsii.Number(24), Height: jsii.Number(1),
	})}
	w.rows = append(w.rows, &heading, &widgets)
}

// metric is one of AWS's.
func (w *watch) metric(namespace, name, statistic string, dimensions map[string]*string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(namespace), MetricName: jsii.String(name), Statistic: jsii.String(statistic), Period: w.period, DimensionsMap: &dimensions,
	})
}

// own is a metric that a function writes into its log (pkg/wire/function).
func (w *watch) own(function, name, statistic string) awscloudwatch.IMetric {
	return w.metric("Slipway", name, statistic, map[string]*string{"Function": jsii.String(w.cfg.name(function))})
}

func (w *watch) executions(machine awsstepfunctions.StateMachine) {
	options := &awscloudwatch.MetricOptions{Period: w.period}
	w.row("Executions",
		w.graph("executions that ended", w.own("feed", "ExecutionsEnded", "Sum"), w.own("feed", "ExecutionsFailed", "Sum")),
		w.alarm("Unclaimed", "oldest-unclaimed-task", "no-eligible-delegate", w.own("sweeper", "OldestUnclaimedTaskSeconds", "Maximum"), 300, 1),
		w.alarm("Failed", "failed-runs", "execution-stuck", machine.MetricFailed(options), 0, 1),
		w.alarm("Throttled", "throttled-runs", "execution-stuck", machine.MetricThrottled(options), 0, 3),
		w.graph("machine runs", machine.MetricStarted(options), machine.MetricSucceeded(options)),
	)
}

// delivery is what stands between a change and who wants to hear of it, and
// between users and the API.
func (w *watch) delivery() {
	table := map[string]*string{"TableName": w.state.Table.TableName()}
	late := w.metric("AWS/Lambda", "IteratorAge", "Maximum", map[string]*string{"FunctionName": jsii.String(w.cfg.name("feed"))})
	api := map[string]*string{"ApiId": w.http.ApiId()}
	w.row("Table, events, API",
		w.alarm("Table", "table-throttled", "database", w.metric("AWS/DynamoDB", "ThrottledRequests", "Sum", table), 0, 3),
		w.graph("units", w.metric("AWS/DynamoDB", "ConsumedReadCapacityUnits", "Sum", table), w.metric("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "Sum", table)),
		w.alarm("FeedLate", "events-late", "events-late", late, 300_000, 1), // ms
		w.alarm("Http", "http-server-errors", "execution-stuck", w.metric("AWS/ApiGateway", "5xx", "Sum", api), 0, 3),
		w.alarm("AuditLate", "audit-stream-late", "audit-stream-late", w.own("sweeper", "AuditStreamLateSeconds", "Maximum"), 86_400, 1),
		w.graph("requests", w.metric("AWS/ApiGateway", "Count", "Sum", api), w.metric("AWS/ApiGateway", "4xx", "Sum", api)),
	)
}

func (w *watch) functions() {
	options := &awscloudwatch.MetricOptions{Period: w.period}
	for _, s := range specs() {
		f := w.Compute.functions[s.name]
		widgets := []awscloudwatch.IWidget{
			w.alarm(upper(s.name)+"Errors", s.name+"-errors", s.playbook(), f.MetricErrors(options), 0, 3),
			w.alarm(upper(s.name)+"Throttles", s.name+"-throttles", s.playbook(), f.MetricThrottles(options), 0, 3),
			w.graph("invocations", f.MetricInvocations(options)),
			w.graph("ms of the slowest in a hundred", f.MetricDuration(&awscloudwatch.MetricOptions{Period: w.period, Statistic: jsii.String("p99")})),
		}
		if f.dead != nil {
			widgets = append(widgets, w.alarm(upper(s.name)+"Dead", s.name+"-dead-letters", "dead-letters",
				f.dead.MetricApproximateNumberOfMessagesVisible(options), 0, 1))
		}
		w.row("Function "+s.name, widgets...)
	}
}
