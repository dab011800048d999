package e2e_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// togetherPipeline deploys a service of ECS, at first a task of it alone, and then
// a function. What fails in the second stage rolls back both.
const togetherPipeline = `pipeline:
  identifier: together
  name: Together
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
              - step: {identifier: gone, name: Canary gone, type: EcsCanaryDelete, timeout: 5m, spec: {}}
              - step: {identifier: roll, name: Roll, type: EcsRollingDeploy, timeout: 5m, spec: {}}
            rollbackSteps:
              - step: {identifier: noCanary, name: No canary, type: EcsCanaryDelete, timeout: 5m, spec: {}}
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
                  spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: <+pipeline.variables.script>}}}
            rollbackSteps:
              - step: {identifier: back, name: Back, type: AwsLambdaRollback, timeout: 5m, spec: {}}
`

// TestTwoDeploymentTypesAreRolledBackTogether: what a pipeline has deployed to ECS
// and to Lambda is as before when its last step fails.
func TestTwoDeploymentTypesAreRolledBackTogether(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w)
		cluster, function := byTheAccounts(ecsEntities(t, w)), byTheAccounts(lambdaEntities(t, w))
		s.Apply(t, cluster)
		s.Apply(t, function[strings.Index(function, "infrastructureDefinition:"):])
		s.Apply(t, togetherPipeline)
		is := func(tag, version string) {
			t.Helper()
			definition, err := ecs.NewFromConfig(w.Config()).DescribeTaskDefinition(t.Context(), &ecs.DescribeTaskDefinitionInput{TaskDefinition: describeService(t, w).TaskDefinition})
			if err != nil {
				t.Fatal(err)
			}
			alias, err := lambda.NewFromConfig(w.Config()).GetAlias(t.Context(), &lambda.GetAliasInput{FunctionName: ptr("web"), Name: ptr("live")})
			if err != nil {
				t.Fatal(err)
			}
			image := *definition.TaskDefinition.ContainerDefinitions[0].Image
			if !strings.HasSuffix(image, ":"+tag) || *alias.FunctionVersion != version {
				t.Errorf("the service runs %s and the alias is at version %s; want tag %s and version %s", image, *alias.FunctionVersion, tag, version)
			}
			out, err := ecs.NewFromConfig(w.Config()).DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: ptr("test"), Services: []string{"webCanary"}})
			if err != nil || len(out.Services) > 0 && *out.Services[0].Status == "ACTIVE" {
				t.Errorf("the canary is still there: %v, %v", out, err)
			}
		}
		run := func(script string) e2e.Execution {
			t.Helper()
			return finish(t, s, s.Begin(t, "together", map[string]string{"variables.script": script}))
		}
		if e := run("true"); e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		is("1", "1")
		s.Apply(t, strings.Replace(service(cluster), `value: "1"`, `value: "2"`, 1))
		s.Apply(t, strings.Replace(service(function), "web-1.zip", "web-2.zip", 1))
		e := run("exit 1")
		if e.Status != "Failed" {
			t.Fatalf("what fails is %s: %s", e.Status, e.Message)
		}
		for _, path := range [][2]string{{"service", "roll"}, {"function", "deploy"}, {"function", "back"}, {"service", "noCanary"}, {"service", "back"}} {
			if n := e.Root.Find(path[0]).Find(path[1]); n == nil || n.Status != "Success" {
				t.Errorf("%s of stage %s is %+v; want Success", path[1], path[0], n)
			}
		}
		is("1", "1")
	})
}
