package e2e_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// lanesPipeline deploys a service of ECS by a canary, and then a function of Lambda. If
// the check fails, all of it is rolled back.
const lanesPipeline = `pipeline:
  identifier: lanes
  name: Lanes
  orgIdentifier: default
  projectIdentifier: default_project
  variables:
    - {name: script, type: String, value: <+input>}
  stages:
    - stage:
        identifier: service
        name: Service
        type: Deployment
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: PipelineRollback}}}]
        spec:
          deploymentType: ECS
          service: {serviceRef: webecs}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: ecs}]}
          execution:
            steps:
              - step: {identifier: canary, name: Canary, type: EcsCanaryDeploy, timeout: 5m, spec: {}}
              - step: {identifier: ended, name: Ended, type: EcsCanaryDelete, timeout: 10m, spec: {}}
              - step: {identifier: roll, name: Roll, type: EcsRollingDeploy, timeout: 5m, spec: {}}
            rollbackSteps:
              - step: {identifier: noCanary, name: No canary, type: EcsCanaryDelete, timeout: 10m, spec: {}}
              - step: {identifier: back, name: Back, type: EcsRollingRollback, timeout: 5m, spec: {}}
    - stage:
        identifier: function
        name: Function
        type: Deployment
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: PipelineRollback}}}]
        spec:
          deploymentType: AwsLambda
          service: {serviceRef: weblambda}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: lambda}]}
          execution:
            steps:
              - step: {identifier: deploy, name: Deploy, type: AwsLambdaDeploy, timeout: 5m, spec: {}}
              - step:
                  identifier: check
                  name: Check
                  type: ShellScript
                  timeout: 1m
                  spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: "<+pipeline.variables.script>"}}}
            rollbackSteps:
              - step: {identifier: undo, name: Undo, type: AwsLambdaRollback, timeout: 5m, spec: {}}
`

// TestAPipelineTakesBackBothItsLanes: a pipeline that deploys to ECS by a canary and then
// to Lambda leaves neither of both when it fails: what was there before, it is again, and
// what wasn't is gone.
func TestAPipelineTakesBackBothItsLanes(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w)
		onECS, onLambda := byTheAccounts(ecsEntities(t, w)), byTheAccounts(lambdaEntities(t, w))
		s.Apply(t, onECS)
		s.Apply(t, onLambda)
		s.Apply(t, lanesPipeline)
		run := func(tag, code, script string) e2e.Execution {
			t.Helper()
			s.Apply(t, strings.Replace(service(onECS), `value: "1"`, `value: "`+tag+`"`, 1))
			s.Apply(t, strings.Replace(service(onLambda), "web-1.zip", code, 1))
			return finish(t, s, s.Begin(t, "lanes", map[string]string{"variables.script": script}))
		}
		canary := func() string {
			t.Helper()
			out, err := ecs.NewFromConfig(w.Config()).DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: ptr("test"), Services: []string{"webCanary"}})
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Services) == 0 {
				return "INACTIVE"
			}
			return *out.Services[0].Status
		}
		if e := run("1", "web-1.zip", "exit 1"); e.Status != "Failed" || e.Root.Find("undo").Status != "Success" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		if live := describeService(t, w); live.DesiredCount != 0 || live.RunningCount != 0 || canary() != "INACTIVE" {
			t.Errorf("the first is taken back to %d of %d tasks, and a canary that is %s", live.RunningCount, live.DesiredCount, canary())
		}
		var none *lambdatypes.ResourceNotFoundException
		if _, err := lambda.NewFromConfig(w.Config()).GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: ptr("web")}); !errors.As(err, &none) {
			t.Errorf("of the first function there is still something: %v", err)
		}
		if e := run("1", "web-1.zip", "true"); e.Status != "Success" {
			t.Fatalf("the deployment is %s: %s", e.Status, e.Message)
		}
		was, of := describeService(t, w), functionOf(t, w)
		if e := run("2", "web-2.zip", "exit 1"); e.Status != "Failed" || e.Root.Find("undo").Status != "Success" || e.Root.Find("back").Status != "Success" || e.Root.Find("noCanary").Status != "Success" {
			t.Fatalf("what fails is %s: %s", e.Status, e.Message)
		}
		if now := describeService(t, w); *now.TaskDefinition != *was.TaskDefinition || now.DesiredCount != was.DesiredCount || rolledOut(now) != rolledOut(was) || canary() != "INACTIVE" {
			t.Errorf("the service is %s with %d tasks, and its canary %s; want %s with %d", *now.TaskDefinition, now.DesiredCount, canary(), *was.TaskDefinition, was.DesiredCount)
		}
		if now := functionOf(t, w); now != of {
			t.Errorf("the function serves %s; want %s", now, of)
		}
	})
}

// rolledOut is the state of a service's newest deployment.
func rolledOut(s types.Service) string {
	for _, d := range s.Deployments {
		if *d.Status == "PRIMARY" {
			return string(d.RolloutState)
		}
	}
	return ""
}

// functionOf is the code that the alias of the function web serves, and its version.
func functionOf(t *testing.T, w *testaws.World) string {
	t.Helper()
	out, err := lambda.NewFromConfig(w.Config()).GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: ptr("web"), Qualifier: ptr("live")})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Version + " " + *out.CodeSha256
}
