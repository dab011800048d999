package e2e_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// TestADelegateIsKilledInADeployment: a delegate's process is killed while AWS
// does what it was told, and AWS's answer reaches nobody. The next process has the
// step tried again, or rolled back; both end where they should, by what the first
// attempt had kept.
func TestADelegateIsKilledInADeployment(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		entities := byTheAccounts(ecsEntities(t, w))
		s.Apply(t, entities)
		rollsBack := awsPipeline("ecs", "ECS", "EcsRollingDeploy", "EcsRollingRollback", "serviceName")
		const step = "type: EcsRollingDeploy, timeout: 5m, spec: {}"
		triesAgain := strings.Replace(rollsBack, step,
			step+", failureStrategies: [{onFailure: {errors: [DelegateRestart], action: {type: Retry, spec: {retryCount: 1, retryIntervals: [1s], onRetryFailure: {action: {type: StageRollback}}}}}}]", 1)
		same := []string{journalEnv + "=" + t.TempDir(), tokenEnv + "=" + delegateToken(t, s)}
		current := delegateOf(t, s, w, same...)
		run := func(pipeline, tag, killedAt string) e2e.Execution {
			t.Helper()
			s.Apply(t, strings.Replace(service(entities), `value: "1"`, `value: "`+tag+`"`, 1))
			s.Apply(t, pipeline)
			before := w.Count(killedAt) // of "" none
			if killedAt != "" {
				w.Fail(killedAt, testaws.Fault{Cut: testaws.Stall, Times: 1})
			}
			id := s.Begin(t, "ecs", map[string]string{"variables.script": "true"})
			if killedAt != "" {
				w.Await(killedAt, before+1)
				current.kill()
				current = delegateOf(t, s, w, same...)
			}
			return finish(t, s, id)
		}
		runs := func(tag string) {
			t.Helper()
			service := describeService(t, w)
			out, err := ecs.NewFromConfig(w.Config()).DescribeTaskDefinition(t.Context(), &ecs.DescribeTaskDefinitionInput{TaskDefinition: service.TaskDefinition})
			if err != nil {
				t.Fatal(err)
			}
			image := sdk.ToString(out.TaskDefinition.ContainerDefinitions[0].Image)
			if image != "registry.example.com/web:"+tag || service.DesiredCount != 2 || service.RunningCount != 2 || len(service.Deployments) != 1 {
				t.Errorf("the service runs %d of %d tasks of %s in %d deployments; want 2 of tag %s in one", service.RunningCount, service.DesiredCount, image, len(service.Deployments), tag)
			}
		}
		if e := run(triesAgain, "1", "ecs:CreateService"); e.Status != "Success" || e.Root.Find("roll").Attempt != 2 {
			t.Fatalf("the first deployment is %s in attempt %d: %s", e.Status, e.Root.Find("roll").Attempt, e.Message)
		}
		runs("1")
		if e := run(triesAgain, "2", "ecs:UpdateService"); e.Status != "Success" || e.Root.Find("roll").Attempt != 2 {
			t.Fatalf("the update is %s in attempt %d: %s", e.Status, e.Root.Find("roll").Attempt, e.Message)
		}
		runs("2")
		if e := run(rollsBack, "3", "ecs:UpdateService"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("the update that isn't tried again is %s: %s", e.Status, e.Message)
		}
		runs("2")
		if e := run(rollsBack, "4", ""); e.Status != "Success" {
			t.Fatalf("the deployment after that is %s: %s", e.Status, e.Message)
		}
		runs("4")
	})
}
