package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Compute is the stack of what runs: functions, the state machine, both APIs,
// rules and alarms. It holds no data.
type Compute struct {
	awscdk.Stack
	cfg         config
	state       *State
	http        awsapigatewayv2.HttpApi
	sockets     awsapigatewayv2.WebSocketApi
	socketStage awsapigatewayv2.WebSocketStage
	bus         awsevents.EventBus
	functions   map[string]*function
}

// NewCompute makes the stack.
func NewCompute(scope constructs.Construct, cfg config, state *State) *Compute {
	c := &Compute{
		Stack: awscdk.NewStack(scope, jsii.String("Compute"), &awscdk.StackProps{
			StackName: jsii.String(cfg.name("compute")), Description: jsii.String("Slipway: what runs"),
		}),
		cfg: cfg, state: state, functions: map[string]*function{},
	}
	c.socketAPI() // the functions' environment has its address
	c.eventBus()  // and its name
	for _, s := range specs() {
		c.functions[s.name] = c.function(s)
	}
	machine := c.machine()
	c.permissions()
	c.socketRoutes()
	c.httpAPI()
	c.feed()
	c.rules(machine)
	c.alarms(machine)
	for name, value := range map[string]*string{
		"ApiUrl": c.url(), "SocketUrl": c.socketStage.Url(), "MachineArn": machine.StateMachineArn(), "StageName": jsii.String(cfg.Stage),
		"EventBusName": c.bus.EventBusName(),
	} {
		awscdk.NewCfnOutput(c.Stack, jsii.String(name), &awscdk.CfnOutputProps{Value: value})
	}
	return c
}
