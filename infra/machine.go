package main

import (
	"path/filepath"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/jsii-runtime-go"
)

// machineARN is the state machine's ARN, by its name: the machine names the
// engine and itself, and the engine names the machine.
func (c *Compute) machineARN() *string { return c.arn("states", "stateMachine", c.cfg.name("node")) }

func (c *Compute) arn(service, kind, name string) *string {
	return c.Stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String(service), Resource: jsii.String(kind), ResourceName: jsii.String(name), ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
}

// machine is statemachines/node.asl.json.
func (c *Compute) machine() awsstepfunctions.StateMachine {
	engine := c.functions["engine"].FunctionArn()
	role := awsiam.NewRole(c.Stack, jsii.String("MachineRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("states.amazonaws.com"), nil), Description: jsii.String("Slipway's state machine"),
	})
	allow := func(sid string, actions []string, resources ...*string) {
		role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Sid: jsii.String(sid), Actions: jsii.Strings(actions...), Resources: &resources,
		}))
	}
	allow("Engine", []string{"lambda:InvokeFunction"}, engine)
	allow("Nested", []string{"states:StartExecution"}, c.machineARN())
	allow("NestedRuns", []string{"states:DescribeExecution", "states:StopExecution"}, c.arn("states", "execution", c.cfg.name("node")+":*"))
	// How Step Functions hears of the end of a nested run: a rule of its own.
	allow("NestedEnds", []string{"events:PutTargets", "events:PutRule", "events:DescribeRule"},
		c.Stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("events"), Resource: jsii.String("rule"), ResourceName: jsii.String("StepFunctionsGetEventsForStepFunctionsExecutionRule"),
		}))
	suppress(role, "AwsSolutions-IAM5", "Runs have names of their own below the machine's; X-Ray and the delivery of logs have no resources to name.")
	m := awsstepfunctions.NewStateMachine(c.Stack, jsii.String("Machine"), &awsstepfunctions.StateMachineProps{
		StateMachineName: jsii.String(c.cfg.name("node")), StateMachineType: awsstepfunctions.StateMachineType_STANDARD, Role: role,
		DefinitionBody:          awsstepfunctions.DefinitionBody_FromFile(jsii.String(filepath.Join(c.cfg.Machines, "node.asl.json")), nil),
		DefinitionSubstitutions: &map[string]*string{"EngineFunctionArn": engine, "NodeMachineArn": c.machineARN()},
		TracingEnabled:          jsii.Bool(true), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
		Logs: &awsstepfunctions.LogOptions{
			Destination: awslogs.NewLogGroup(c.Stack, jsii.String("MachineLog"), &awslogs.LogGroupProps{
				LogGroupName: jsii.String("/aws/vendedlogs/states/" + c.cfg.name("node")), Retention: c.cfg.retention(), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
			}),
			Level: awsstepfunctions.LogLevel_ERROR, IncludeExecutionData: jsii.Bool(false),
		},
	})
	suppress(m, "AwsSolutions-SF1", "Every state of every run would cost more than the run itself; errors are logged, and executions keep what happened.")
	return m
}

// What the functions do with each service.
var (
	tableActions = []string{
		"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem",
		"dynamodb:ConditionCheckItem",
	}
	blobActions   = []string{"s3:GetObject", "s3:PutObject", "s3:PutObjectTagging"}
	tokenActions  = []string{"states:SendTaskSuccess", "states:SendTaskFailure"}
	secretActions = []string{"kms:Encrypt", "kms:Decrypt"}
	streamActions = []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"} // Lambda's, in its name
	dataActions   = []string{"kms:Decrypt", "kms:GenerateDataKey"}                                          // of the table, the bucket and the environment
)

// permissions gives each function what it uses.
func (c *Compute) permissions() {
	table := c.state.Table.TableArn()
	index := func(n string) *string {
		return awscdk.Fn_Join(jsii.String(""), &[]*string{table, jsii.String("/index/index" + n)})
	}
	blobs := c.state.Bucket.ArnForObjects(jsii.String(blobPrefix + "*"))
	runs := c.arn("states", "execution", c.cfg.name("node")+":*")
	sockets := c.Stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("execute-api"), Resource: c.sockets.ApiId(), ResourceName: jsii.String(c.cfg.Stage + "/POST/@connections/*"),
	})
	for _, s := range specs() {
		name, f := s.name, c.functions[s.name]
		suppress(f.role, "AwsSolutions-IAM5", "Blobs, runs and connections have names of their own below the one that is named; X-Ray has no resources to name.")
		if s.bare {
			continue
		}
		f.allow("Data", dataActions, c.state.Key.KeyArn())
		switch name {
		case "connect":
			f.allow("Table", []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:DeleteItem"}, table)
		case "feed": // to pages it tells what their callers may see: it reads who may what, and which pages there are
			f.allow("Table", []string{"dynamodb:GetItem", "dynamodb:Query", "dynamodb:DeleteItem"}, table)
			f.allow("Hint", []string{"execute-api:ManageConnections"}, sockets)
			f.allow("Blobs", []string{"s3:GetObject", "s3:PutObjectTagging"}, blobs)
			f.allow("Stream", streamActions, c.state.Table.TableStreamArn())
			f.allow("Tell", []string{"events:PutEvents"}, c.bus.EventBusArn())
		case "notify":
			f.allow("Table", []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"}, table)
			f.allow("Blobs", []string{"s3:GetObject"}, blobs)
		case "login": // it saves users and sessions, and starts nothing
			f.allow("Table", tableActions, table)
			f.allow("Lists", []string{"dynamodb:Query"}, index("1")) // sessions of the account
			f.allow("Blobs", blobActions, blobs)
			f.allow("Secrets", secretActions, c.state.Key.KeyArn())
		default:
			f.allow("Table", tableActions, table)
			f.allow("Blobs", blobActions, blobs)
			f.allow("Tokens", tokenActions, c.machineARN())
			f.allow("Wake", []string{"execute-api:ManageConnections"}, sockets)
		}
		if slices.Contains([]string{"api", "engine", "webhooks", "events"}, name) { // who saves and starts
			f.allow("Policies", []string{"lambda:InvokeFunction"}, c.functions["policy"].FunctionArn())
		}
		switch name {
		case "api": // tokens, and what a delegate holds
			f.allow("Lists", []string{"dynamodb:Query"}, index("1"), index("2"))
			f.allow("Secrets", secretActions, c.state.Key.KeyArn())
			f.allow("Start", []string{"states:StartExecution", "states:SendTaskHeartbeat"}, c.machineARN())
		case "webhooks", "events", "engine": // engine: chained pipelines
			f.allow("Start", []string{"states:StartExecution"}, c.machineARN())
		case "sweeper": // what is under way
			f.allow("Lists", []string{"dynamodb:Query"}, index("2"))
			f.allow("Start", []string{"states:StartExecution"}, c.machineARN())
			f.allow("Look", []string{"states:DescribeExecution"}, runs)
			if len(c.cfg.AuditBuckets) > 0 { // streaming destinations
				f.allow("AuditBuckets", []string{"s3:PutObject"}, c.auditObjects()...)
			}
			if len(c.cfg.AuditRoles) > 0 {
				f.allow("AuditRoles", []string{"sts:AssumeRole"}, *jsii.Strings(c.cfg.AuditRoles...)...)
			}
		}
	}
}

// auditObjects are what the audit trail is written to.
func (c *Compute) auditObjects() []*string {
	var list []*string
	for _, name := range c.cfg.AuditBuckets {
		list = append(list, c.Stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("s3"), Region: jsii.String(""), Account: jsii.String(""), Resource: jsii.String(name + "/audit/*"), ArnFormat: awscdk.ArnFormat_NO_RESOURCE_NAME,
		}))
	}
	return list
}
