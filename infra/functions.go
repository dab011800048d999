package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// spec is what differs from function to function.
type spec struct {
	name     string
	purpose  string
	memory   float64 // MB; CPU grows with it
	timeout  float64 // seconds
	reserved float64 // instances at most; 0: the account's limit
	queued   bool    // nobody waits for it: what fails for good goes to a queue
	bare     bool    // it has no rights but to log, and no settings of the others
}

// specs are the functions. The engine's time-out is above what the state
// machine waits for it.
func specs() []spec {
	return []spec{
		{name: "api", purpose: "answers the HTTP API", memory: 512, timeout: 29},
		{name: "engine", purpose: "answers the state machine's tasks", memory: 512, timeout: 60},
		{name: "webhooks", purpose: "takes in what Git hosts send to triggers", memory: 512, timeout: 29},
		{name: "login", purpose: "logs people in by identity providers", memory: 512, timeout: 29},
		{name: "policy", purpose: "evaluates governance policies", memory: 1024, timeout: 10, bare: true},
		{name: "console", purpose: "gives browsers the console's pages", memory: 256, timeout: 10, bare: true},
		{name: "connect", purpose: "lets delegates and pages in", memory: 256, timeout: 10},
		{name: "events", purpose: "takes in the ends of machine runs, and fires schedules", memory: 256, timeout: 60, reserved: 10, queued: true},
		{name: "feed", purpose: "tells the event bus and pages what happens", memory: 256, timeout: 60, queued: true},
		{name: "notify", purpose: "sends notifications", memory: 256, timeout: 180, reserved: 10, queued: true},
		{name: "sweeper", purpose: "repairs executions, and brings the audit trail to its destinations", memory: 256, timeout: 300, reserved: 2, queued: true}, // a sweep, and a pass of the trail
	}
}

// playbook says what to do when the function fails.
func (s spec) playbook() string {
	switch s.name {
	case "webhooks":
		return "trigger-silent"
	case "login":
		return "nobody-logs-in"
	case "policy":
		return "policies-fail"
	case "console":
		return "console-down"
	}
	return "execution-stuck"
}

func functionNames() []string {
	var names []string
	for _, s := range specs() {
		names = append(names, s.name)
	}
	return names
}

// function is one function with its role, its log and, if it has one, its
// dead-letter queue.
type function struct {
	awslambda.Function
	role awsiam.Role
	dead awssqs.Queue // nil for a function that is always waited for
}

func (c *Compute) function(s spec) *function {
	id := func(what string) *string { return jsii.String(upper(s.name) + what) }
	log := awslogs.NewLogGroup(c.Stack, id("Log"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/slipway/" + c.cfg.Stage + "/" + s.name), Retention: c.cfg.retention(), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	f := &function{role: awsiam.NewRole(c.Stack, id("Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil), Description: jsii.String("Slipway's function that " + s.purpose),
	})}
	f.allow("Log", []string{"logs:CreateLogStream", "logs:PutLogEvents"}, log.LogGroupArn())
	props := &awslambda.FunctionProps{
		FunctionName: jsii.String(c.cfg.name(s.name)), Description: jsii.String("Slipway: " + s.purpose), Role: f.role,
		Code:    awslambda.Code_FromAsset(jsii.String(c.cfg.zip(s.name)), nil),
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Architecture: awslambda.Architecture_ARM_64(), Handler: jsii.String("bootstrap"),
		MemorySize: jsii.Number(s.memory), Timeout: awscdk.Duration_Seconds(jsii.Number(s.timeout)), LogGroup: log,
		Tracing: awslambda.Tracing_ACTIVE,
	}
	if !s.bare {
		props.Environment, props.EnvironmentEncryption = c.environment(), c.state.Key
	}
	if s.name == "console" { // no secret, so it needs no right to open it: where its pages may connect to
		props.Environment = &map[string]*string{"SLIPWAY_SOCKET": c.socketStage.CallbackUrl()}
	}
	if s.reserved > 0 {
		props.ReservedConcurrentExecutions = jsii.Number(s.reserved)
	}
	if s.queued {
		f.dead = awssqs.NewQueue(c.Stack, id("DeadLetters"), &awssqs.QueueProps{
			EncryptionMasterKey: c.state.Key, Encryption: awssqs.QueueEncryption_KMS, EnforceSSL: jsii.Bool(true),
			RetentionPeriod: awscdk.Duration_Days(jsii.Number(14)),
		})
		suppress(f.dead, "AwsSolutions-SQS3", "It is the dead-letter queue.")
		props.DeadLetterQueue = f.dead
	}
	f.Function = awslambda.NewFunction(c.Stack, id("Function"), props)
	awscdk.Tags_Of(f.Function).Add(jsii.String("component"), jsii.String(s.name), nil)
	suppress(f.Function, "AwsSolutions-L1", "provided.al2023 is the newest runtime for compiled programs.")
	return f
}

// environment is pkg/wire/aws's Config.
func (c *Compute) environment() *map[string]*string {
	env := map[string]*string{
		"SLIPWAY_TABLE": c.state.Table.TableName(), "SLIPWAY_BUCKET": c.state.Bucket.BucketName(), "SLIPWAY_KMS_KEY": c.state.Key.KeyArn(),
		"SLIPWAY_MACHINE": c.machineARN(), "SLIPWAY_EVENT_BUS": c.bus.EventBusName(), "SLIPWAY_SOCKET": c.socketStage.CallbackUrl(), "SLIPWAY_LOG_LEVEL": jsii.String(c.cfg.LogLevel),
		"SLIPWAY_POLICY_FUNCTION": jsii.String(c.cfg.name("policy")),
	}
	for name, value := range map[string]string{
		"SLIPWAY_SMTP_SERVER": c.cfg.SMTPServer, "SLIPWAY_SMTP_FROM": c.cfg.SMTPFrom, "SLIPWAY_SMTP_PASSWORD": c.cfg.SMTPPassword,
		"SLIPWAY_MAX_EXECUTIONS": c.cfg.MaxExecutions, "SLIPWAY_MAX_PIPELINE_EXECUTIONS": c.cfg.MaxPipelineExecutions,
		"SLIPWAY_AUDIT_RETENTION": c.cfg.AuditRetention, "SLIPWAY_REQUEST_RATE": c.cfg.RequestRate, "SLIPWAY_LOGIN_RATE": c.cfg.LoginRate,
	} {
		if value != "" {
			env[name] = jsii.String(value)
		}
	}
	return &env
}

// allow adds a statement to the function's own policy.
func (f *function) allow(sid string, actions []string, resources ...*string) {
	f.role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String(sid), Actions: jsii.Strings(actions...), Resources: &resources,
	}))
}

func upper(s string) string { return string(s[0]-'a'+'A') + s[1:] }
