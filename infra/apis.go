package main

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

const ownAuthorization = "Every route is checked in the function, by the token that the caller sends: it also says what the caller may do."

// requestLog is the log of an API's requests: who, what, how long; no tokens.
func (c *Compute) requestLog(id, name string) *awsapigatewayv2.CfnStage_AccessLogSettingsProperty {
	log := awslogs.NewLogGroup(c.Stack, jsii.String(id), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/slipway/" + c.cfg.Stage + "/" + name), Retention: c.cfg.retention(), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	return &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: log.LogGroupArn(),
		Format: jsii.String(`{"request":"$context.requestId","ip":"$context.identity.sourceIp","route":"$context.routeKey","path":"$context.path",` +
			`"status":"$context.status","ms":"$context.responseLatency","error":"$context.error.message","function":"$context.integrationErrorMessage"}`),
	}
}

// ofAPI are the paths of the API of which something is read: all others that
// browsers ask for are the console's (web.Handler).
var ofAPI = []string{"/v1/{proxy+}", "/schema/{proxy+}", "/oidc/{proxy+}", "/scim/{proxy+}", "/gateway/{proxy+}", "/healthz", "/openapi.json"}

// logins are the paths at which people log in by identity providers, and programs by
// tokens of theirs.
var logins = map[string][]awsapigatewayv2.HttpMethod{
	"/v1/login":               {awsapigatewayv2.HttpMethod_GET},
	"/v1/login/oidc/{proxy+}": {awsapigatewayv2.HttpMethod_GET, awsapigatewayv2.HttpMethod_POST},
	"/v1/login/saml/{proxy+}": {awsapigatewayv2.HttpMethod_GET, awsapigatewayv2.HttpMethod_POST},
	"/v1/login/workload":      {awsapigatewayv2.HttpMethod_POST},
}

// httpAPI gives every request to the function api but deliveries, which are the
// function webhooks', logins by providers, which are the function login's, and pages,
// which are the function console's.
func (c *Compute) httpAPI() {
	c.http = awsapigatewayv2.NewHttpApi(c.Stack, jsii.String("HttpApi"), &awsapigatewayv2.HttpApiProps{
		ApiName: jsii.String(c.cfg.name("api")), Description: jsii.String("Slipway's API"),
		DefaultIntegration:        awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Api"), c.functions["api"].Function, nil),
		DisableExecuteApiEndpoint: jsii.Bool(c.cfg.Domain != ""), DefaultDomainMapping: c.domain(),
	})
	c.http.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
		Path: jsii.String("/webhooks/{proxy+}"), Methods: &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod_POST},
		Integration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Webhooks"), c.functions["webhooks"].Function, nil),
	})
	pages := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Console"), c.functions["console"].Function, nil)
	for _, path := range []string{"/", "/{proxy+}"} {
		c.http.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String(path), Methods: &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod_GET}, Integration: pages})
	}
	api := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Reads"), c.functions["api"].Function, nil)
	for _, path := range ofAPI {
		c.http.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String(path), Methods: &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod_GET}, Integration: api})
	}
	people := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Logins"), c.functions["login"].Function, nil)
	for _, path := range slices.Sorted(maps.Keys(logins)) {
		methods := logins[path]
		c.http.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String(path), Methods: &methods, Integration: people})
	}
	// The issuer of the tokens that clouds trust has this name, and providers send
	// browsers back to it.
	for _, name := range []string{"api", "login"} {
		c.functions[name].AddEnvironment(jsii.String("SLIPWAY_URL"), c.url(), nil)
	}
	stage, _ := c.http.DefaultStage().Node().DefaultChild().(awsapigatewayv2.CfnStage)
	stage.SetAccessLogSettings(c.requestLog("HttpApiLog", "http"))
	stage.SetDefaultRouteSettings(&awsapigatewayv2.CfnStage_RouteSettingsProperty{ThrottlingBurstLimit: jsii.Number(1000), ThrottlingRateLimit: jsii.Number(500)})
	suppress(c.http, "AwsSolutions-APIG4", ownAuthorization)
}

// domain is the API's own name, if there is one.
func (c *Compute) domain() *awsapigatewayv2.DomainMappingOptions {
	if c.cfg.Domain == "" {
		return nil
	}
	name := awsapigatewayv2.NewDomainName(c.Stack, jsii.String("Domain"), &awsapigatewayv2.DomainNameProps{
		DomainName:  jsii.String(c.cfg.Domain),
		Certificate: awscertificatemanager.Certificate_FromCertificateArn(c.Stack, jsii.String("Certificate"), jsii.String(c.cfg.Certificate)),
	})
	awscdk.NewCfnOutput(c.Stack, jsii.String("DomainTarget"), &awscdk.CfnOutputProps{Value: name.RegionalDomainName()}) // of the CNAME record
	return &awsapigatewayv2.DomainMappingOptions{DomainName: name}
}

// url is where the HTTP API is reached.
func (c *Compute) url() *string {
	if c.cfg.Domain != "" {
		return jsii.String("https://" + c.cfg.Domain)
	}
	return c.http.ApiEndpoint()
}

// socketAPI is the WebSocket API of delegates and of pages; its routes come when their
// function is there.
func (c *Compute) socketAPI() {
	c.sockets = awsapigatewayv2.NewWebSocketApi(c.Stack, jsii.String("SocketApi"), &awsapigatewayv2.WebSocketApiProps{
		ApiName: jsii.String(c.cfg.name("sockets")), Description: jsii.String("Wakes Slipway's delegates, and tells pages what changes"),
	})
	c.socketStage = awsapigatewayv2.NewWebSocketStage(c.Stack, jsii.String("SocketStage"), &awsapigatewayv2.WebSocketStageProps{
		WebSocketApi: c.sockets, StageName: jsii.String(c.cfg.Stage), AutoDeploy: jsii.Bool(true),
	})
	stage, _ := c.socketStage.Node().DefaultChild().(awsapigatewayv2.CfnStage)
	stage.SetAccessLogSettings(c.requestLog("SocketApiLog", "sockets"))
}

func (c *Compute) socketRoutes() {
	for _, route := range []string{"$connect", "$disconnect", "$default"} {
		c.sockets.AddRoute(jsii.String(route), &awsapigatewayv2.WebSocketRouteOptions{
			Integration: awsapigatewayv2integrations.NewWebSocketLambdaIntegration(jsii.String("Connect"+route[1:]), c.functions["connect"].Function, nil),
		})
	}
	suppress(c.sockets, "AwsSolutions-APIG4", ownAuthorization)
}
