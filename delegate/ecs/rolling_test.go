package ecs_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	scaling "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// The first deployment makes the service; it is kept before that there was none.
func TestFirstDeployment(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.succeeds(t, ecslane.OpRolling)
	if diff := cmp.Diff([]string{"RegisterTaskDefinition", "CreateService"}, s.changes(0)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	kept := s.env.Kept()
	if len(kept) != 1 || !strings.Contains(string(kept[0].Data), `"first":true`) {
		t.Errorf("kept %v; want that there was no service", kept)
	}
	live := s.live(t, "web")
	want := map[string]any{
		"serviceName": "web", "serviceArn": *live.ServiceArn, "region": testaws.Region, "cluster": "test", "firstDeployment": true,
		"desiredCount": 2.0, "taskDefinitionArn": *live.TaskDefinition, "deploymentId": *live.Deployments[0].Id,
	}
	for name, value := range want {
		if got := output(t, r, name); got != value {
			t.Errorf("output %s is %v; want %v", name, got, value)
		}
	}
	c := r.Changes[0]
	if len(c.Instances) != 2 || c.Instances[0].Images[0] != "web:1" || len(c.Workloads) != 1 || *c.Workloads[0].Replicas != 2 {
		t.Errorf("the ledger gets %+v", c)
	}
}

// An update replaces the tasks, leaves what the definition doesn't say, and the
// rollback brings back what was there before the first attempt.
func TestUpdateAndRollback(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	before := first.live(t, "web")

	s := first.next(t, "web:2")
	since := len(s.Calls())
	r := s.succeeds(t, ecslane.OpRolling)
	if diff := cmp.Diff([]string{"RegisterTaskDefinition", "UpdateService", "TagResource"}, s.changes(since)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := r.Changes[0].Instances; len(got) != 2 || got[0].Images[0] != "web:2" || got[1].Images[0] != "web:2" {
		t.Errorf("instances %+v; want two of web:2", got)
	}
	// A second attempt of the step registers nothing anew and keeps nothing anew.
	s.attempt = 2
	since = len(s.Calls())
	s.succeeds(t, ecslane.OpRolling)
	if diff := cmp.Diff([]string{"UpdateService"}, s.changes(since)); diff != "" {
		t.Errorf("changes of the second attempt (-want +got):\n%s", diff)
	}
	since = len(s.Calls())
	r = s.succeeds(t, ecslane.OpRollingRollback)
	after := s.live(t, "web")
	if *after.TaskDefinition != *before.TaskDefinition || after.DesiredCount != before.DesiredCount {
		t.Errorf("after the rollback the service has %s and %d tasks", *after.TaskDefinition, after.DesiredCount)
	}
	if got := r.Changes[0]; got.Action != "rolled back" || len(got.Instances) != 2 || got.Instances[0].Images[0] != "web:1" {
		t.Errorf("the ledger gets %+v", got)
	}
	if diff := cmp.Diff([]string{"UpdateService", "TagResource", "UntagResource"}[:2], s.changes(since)); diff != "" {
		t.Errorf("changes of the rollback (-want +got):\n%s", diff)
	}
	// Once more: it is as before.
	since = len(s.Calls())
	s.succeeds(t, ecslane.OpRollingRollback)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("the second rollback changes %v", got)
	}
}

// A service that ECS has rolled back is steady, and a failure.
func TestCircuitBreaker(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	s := first.next(t, "web:crash-2")
	r := s.refused(t, "ECS rolled back", ecslane.OpRolling)
	if len(r.Changes) != 1 || r.Outputs == nil {
		t.Errorf("the ledger gets %v of the failure", r.Changes)
	}
	if log := s.env.Text("Deploy", executor.Info); !strings.Contains(log, "stopped (") {
		t.Errorf("the log doesn't say why tasks stopped:\n%s", log)
	}
	since := len(s.Calls())
	s.succeeds(t, ecslane.OpRollingRollback)
	if got := s.changes(since); len(got) > 0 && got[0] == "UpdateService" {
		t.Errorf("the rollback changes %v", got)
	}
	if log := s.env.Text("Rollback", executor.Info); !strings.Contains(log, "already as before") {
		t.Errorf("the rollback says:\n%s", log)
	}
}

// A first deployment that is taken back leaves the service without tasks.
func TestRollbackOfTheFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, ecslane.OpRolling, withScaling)
	r := s.succeeds(t, ecslane.OpRollingRollback)
	if live := s.live(t, "web"); live == nil || live.DesiredCount != 0 || live.RunningCount != 0 {
		t.Errorf("after the rollback there is %+v", live)
	}
	if len(r.Changes[0].Instances) != 0 || !r.Changes[0].Counted {
		t.Errorf("the ledger gets %+v", r.Changes[0])
	}
	if out, err := s.scaler().DescribeScalableTargets(t.Context(), &scaling.DescribeScalableTargetsInput{ServiceNamespace: "ecs"}); err != nil || len(out.ScalableTargets) != 0 {
		t.Errorf("scalable targets %v, %v; want none", out, err)
	}
}

// Nothing was changed, so nothing is asked of AWS.
func TestNothingToRollBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, ecslane.OpRollingRollback)
	if got := s.Calls(); len(got) > 0 {
		t.Errorf("calls %v; want none", got)
	}
}

func withScaling(spec *ecslane.Spec) {
	spec.Target.Targets = append(spec.Target.Targets, *manifest("EcsScalableTargetDefinition", scalableTarget))
	spec.Target.Policies = append(spec.Target.Policies, *manifest("EcsScalingPolicyDefinition", scalingPolicy))
}

// What scales a service rests during a deployment and goes on after it; a
// deployment that fails leaves it resting until it is rolled back.
func TestScaling(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling, withScaling)
	wanted := first.scales(t, "web")
	if wanted.targets == "null" || wanted.policies != "cpu" {
		t.Fatalf("the service is scaled by %+v", wanted)
	}
	second := first.next(t, "web:2")
	since := len(second.Calls())
	second.succeeds(t, ecslane.OpRolling, withScaling)
	if diff := cmp.Diff([]string{"RegisterTaskDefinition", "RegisterScalableTarget", "UpdateService", "TagResource", "RegisterScalableTarget"}, second.changes(since)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wanted, second.scales(t, "web"), cmp.AllowUnexported(scales{})); diff != "" {
		t.Errorf("what scales the service (-want +got):\n%s", diff)
	}
	failed := second.next(t, "web:crash-3")
	failed.refused(t, "ECS rolled back", ecslane.OpRolling, withScaling)
	if got := failed.scales(t, "web"); got == wanted {
		t.Error("after the failure scaling doesn't rest")
	}
	failed.succeeds(t, ecslane.OpRollingRollback)
	if diff := cmp.Diff(wanted, failed.scales(t, "web"), cmp.AllowUnexported(scales{})); diff != "" {
		t.Errorf("after the rollback the service is scaled by (-want +got):\n%s", diff)
	}
	// Left alone, it stays; without documents, it goes.
	left := second.next(t, "web:4")
	left.succeeds(t, ecslane.OpRolling, func(s *ecslane.Spec) { s.SkipScaling = true })
	if diff := cmp.Diff(wanted, left.scales(t, "web"), cmp.AllowUnexported(scales{})); diff != "" {
		t.Errorf("left alone, the service is scaled by (-want +got):\n%s", diff)
	}
	without := second.next(t, "web:5")
	without.succeeds(t, ecslane.OpRolling)
	if got := without.scales(t, "web"); got.targets != "[]" && got.targets != "null" {
		t.Errorf("without documents the service is scaled by %+v", got)
	}
}

// The count of a service that is scaled from outside stays.
func TestSameCount(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	first.succeeds(t, ecslane.OpScale, func(s *ecslane.Spec) { n := 3; s.Scale = &ecslane.Scale{Service: "web", Count: &n} })
	s := first.next(t, "web:2")
	s.succeeds(t, ecslane.OpRolling, func(s *ecslane.Spec) { s.SameCount = true })
	if live := s.live(t, "web"); live.DesiredCount != 3 {
		t.Errorf("the service has %d tasks; want 3", live.DesiredCount)
	}
	updates := s.CallsOf("ecs:UpdateService")
	if last := updates[len(updates)-1]; strings.Contains(string(last.Parameters), "desiredCount") {
		t.Errorf("the update says how many: %s", last.Parameters)
	}
}

// A deployment that nothing differs in is started only if it is asked for, and
// once.
func TestForce(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	arn := *first.live(t, "web").TaskDefinition
	registered := func(force bool) func(*ecslane.Spec) {
		return func(s *ecslane.Spec) {
			s.Target.TaskDefinition, s.Target.TaskDefinitionARN, s.Force = nil, arn[:strings.LastIndexByte(arn, ':')], force
		}
	}
	was := *first.live(t, "web").Deployments[0].Id
	s := first.next(t, "web:2")
	r := s.succeeds(t, ecslane.OpRolling, registered(false))
	if got := *s.live(t, "web").Deployments[0].Id; got == was || output(t, r, "taskDefinitionArn") != arn {
		t.Errorf("the deployment is %s of %v; want a new one of %s", got, output(t, r, "taskDefinitionArn"), arn)
	}
	was = *s.live(t, "web").Deployments[0].Id
	s.succeeds(t, ecslane.OpRolling, registered(false)) // delivered again
	if got := *s.live(t, "web").Deployments[0].Id; got != was {
		t.Errorf("the same step has started %s after %s", got, was)
	}
}

// What AWS would say late, or not at all.
func TestRefusedInPrepare(t *testing.T) {
	t.Parallel()
	service := func(more string) func(*ecslane.Spec) {
		return func(s *ecslane.Spec) { s.Target.Service.Store.Inline += more }
	}
	for name, tt := range map[string]struct {
		change func(*ecslane.Spec)
		want   string
	}{
		"another controller":      {service("deploymentController: {type: CODE_DEPLOY}\n"), "Slipway shifts traffic itself; use the type ECS"},
		"a port that nobody maps": {service("loadBalancers: [{targetGroupArn: x, containerName: web, containerPort: 81}]\n"), "No container definition has port mapping that matches the target port"},
		"a misspelt member":       {func(s *ecslane.Spec) { s.Target.TaskDefinition.Store.Inline = "famly: web\n" }, "family"},
		"no name":                 {func(s *ecslane.Spec) { s.Target.Service.Store.Inline = "desiredCount: 1\n" }, "the service definition has no serviceName"},
		"an answer":               {func(s *ecslane.Spec) { s.Target.Service.Store.Inline = "services: [{serviceName: web}]\n" }, "remove the services array"},
		"no service":              {func(s *ecslane.Spec) { s.Target.Service = nil }, "the service has no manifest of the type EcsServiceDefinition"},
		"no task definition":      {func(s *ecslane.Spec) { s.Target.TaskDefinition = nil }, "nor ecsTaskDefinitionArn"},
		"policies of nothing":     {func(s *ecslane.Spec) { withScaling(s); s.Target.Targets = nil }, "no manifest of the type EcsScalableTargetDefinition"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.refused(t, tt.want, ecslane.OpRolling, tt.change)
			if got := s.Calls(); len(got) > 0 {
				t.Errorf("calls %v; want none", got)
			}
		})
	}
}

// What can't be changed of a service is warned of.
func TestForGood(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	s := first.next(t, "web:2")
	s.service = strings.Replace(s.service, "FARGATE", "EC2", 1)
	s.succeeds(t, ecslane.OpRolling)
	if log := s.env.Text("Deploy", executor.Info); !strings.Contains(log, "launchType of service web is FARGATE and stays so") {
		t.Errorf("the log has no warning:\n%s", log)
	}
}

// The snapshot's task definition was deregistered meanwhile: it is registered anew.
func TestRollbackToADeregisteredDefinition(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	was := *first.live(t, "web").TaskDefinition
	s := first.next(t, "web:2")
	s.succeeds(t, ecslane.OpRolling)
	if _, err := s.client().DeregisterTaskDefinition(t.Context(), &awsecs.DeregisterTaskDefinitionInput{TaskDefinition: &was}); err != nil {
		t.Fatal(err)
	}
	r := s.succeeds(t, ecslane.OpRollingRollback)
	if now := *s.live(t, "web").TaskDefinition; now == was || r.Changes[0].Instances[0].Images[0] != "web:1" {
		t.Errorf("the service has %s with %v; want another revision of web:1", now, r.Changes[0].Instances)
	}
}

// Somebody else deploys while the step waits.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	s := first.next(t, "web:slow-2")
	s.Hold() // or else it is done before the other one comes
	deployed := make(chan struct{})
	go func() {
		defer close(deployed)
		s.Await("ecs:UpdateService", 1)
		defer s.Go()
		definition, err := s.client().RegisterTaskDefinition(t.Context(), &awsecs.RegisterTaskDefinitionInput{
			Family: sdk.String("other"), ContainerDefinitions: containers("web:9"), NetworkMode: "awsvpc", RequiresCompatibilities: []types.Compatibility{"FARGATE"},
			Cpu: sdk.String("256"), Memory: sdk.String("512"),
		})
		if err == nil {
			_, err = s.client().UpdateService(t.Context(), &awsecs.UpdateServiceInput{
				Cluster: sdk.String("test"), Service: sdk.String("web"), TaskDefinition: definition.TaskDefinition.TaskDefinitionArn,
			})
		}
		if err != nil {
			t.Error(err)
		}
	}()
	s.refused(t, "superseded by deployment", ecslane.OpRolling)
	<-deployed
	// The stage still takes back what it has changed, and says over what.
	s.succeeds(t, ecslane.OpRollingRollback)
	if got := s.running(t); got != "web:1" {
		t.Errorf("after the rollback runs %s", got)
	}
}

// Canary: a service with one task beside the one that serves.
func TestCanary(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.succeeds(t, ecslane.OpCanary)
	if live := s.live(t, "webCanary"); live == nil || live.DesiredCount != 1 || output(t, r, "canaryServiceName") != "webCanary" {
		t.Errorf("the canary is %+v", live)
	}
	if got := r.Changes[0].Instances; len(got) != 1 || !got[0].Canary {
		t.Errorf("instances %+v; want a canary", got)
	}
	// One that is left over is updated.
	later := s.next(t, "web:2")
	since := len(later.Calls())
	later.succeeds(t, ecslane.OpCanary)
	if diff := cmp.Diff([]string{"RegisterTaskDefinition", "UpdateService", "TagResource"}, later.changes(since)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	r = later.succeeds(t, ecslane.OpCanaryDelete)
	if live := later.live(t, "webCanary"); live != nil || r.Changes[0].Action != "deleted" {
		t.Errorf("after its deletion there is %+v, and the ledger gets %+v", live, r.Changes)
	}
	fresh := later.next(t, "web:3")
	since = len(fresh.Calls())
	fresh.succeeds(t, ecslane.OpCanaryDelete)
	if got := fresh.changes(since); len(got) > 0 {
		t.Errorf("deleting none changes %v", got)
	}
	fresh.service = "serviceName: web\nschedulingStrategy: DAEMON\n"
	fresh.refused(t, "DAEMON", ecslane.OpCanary)
}

// EcsScale: a count, or a percentage of what should be there.
func TestScale(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, ecslane.OpRolling, withScaling)
	to := func(count, percentage int) func(*ecslane.Spec) {
		return func(s *ecslane.Spec) {
			s.Scale = &ecslane.Scale{Service: "web", Count: &count}
			if percentage >= 0 {
				s.Scale = &ecslane.Scale{Service: "web", Percentage: &percentage}
			}
		}
	}
	for _, tt := range []struct{ count, percentage, want int }{{3, -1, 3}, {0, 50, 2}, {0, 0, 0}, {5, -1, 5}} {
		r := s.succeeds(t, ecslane.OpScale, to(tt.count, tt.percentage))
		if live := s.live(t, "web"); int(live.DesiredCount) != tt.want || output(t, r, "count") != float64(tt.want) {
			t.Errorf("scaled to %d or %d %%: %d tasks; want %d", tt.count, tt.percentage, live.DesiredCount, tt.want)
		}
	}
	if log := s.env.Text("Deploy", executor.Info); !strings.Contains(log, "keeps service web between 1 and 4 tasks; it will change 5 back") {
		t.Errorf("the log has no warning:\n%s", log)
	}
	r := s.succeeds(t, ecslane.OpScale, to(1, -1), func(s *ecslane.Spec) { s.Scale.Elsewhere = true })
	if len(r.Changes) > 0 || output(t, r, "count") != 1.0 {
		t.Errorf("of a service of another place the ledger is told %+v, outputs %s", r.Changes, r.Outputs)
	}
	s.refused(t, "there is no service other", ecslane.OpScale, func(s *ecslane.Spec) { n := 1; s.Scale = &ecslane.Scale{Service: "other", Count: &n} })
}

// running is what runs of the service, if it is one image.
func (s *stage) running(t *testing.T) string {
	t.Helper()
	d, err := s.client().DescribeTaskDefinition(t.Context(), &awsecs.DescribeTaskDefinitionInput{TaskDefinition: s.live(t, "web").TaskDefinition})
	if err != nil {
		t.Fatal(err)
	}
	return *d.TaskDefinition.ContainerDefinitions[0].Image
}

// Capacity providers take the place of a launch type, and go again: by the documents,
// and by a rollback.
func TestCapacityProviders(t *testing.T) {
	t.Parallel()
	providers := func(s *stage) string {
		t.Helper()
		var names []string
		for _, one := range s.live(t, "web").CapacityProviderStrategy {
			names = append(names, *one.CapacityProvider)
		}
		return strings.Join(names, " ")
	}
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	spot := first.next(t, "web:2")
	spot.service = strings.Replace(first.service, "launchType: FARGATE", "capacityProviderStrategy: [{capacityProvider: FARGATE_SPOT, weight: 1}]", 1)
	spot.succeeds(t, ecslane.OpRolling)
	if got := providers(spot); got != "FARGATE_SPOT" {
		t.Errorf("the capacity providers are %q; want FARGATE_SPOT", got)
	}
	spot.succeeds(t, ecslane.OpRollingRollback)
	if got := providers(spot); got != "" || spot.running(t) != "web:1" {
		t.Errorf("taken back the capacity providers are %q of %s; want none of web:1", got, spot.running(t))
	}
	again := spot.next(t, "web:3") // with them again
	again.succeeds(t, ecslane.OpRolling)
	back := again.next(t, "web:4")
	back.service = first.service
	back.compares(t, ecslane.OpDiff, "[TaskDefinition/web Service/web]", []string{`-      "capacityProvider": "FARGATE_SPOT",`, `+  "capacityProviderStrategy": [],`})
	back.succeeds(t, ecslane.OpRolling)
	if log := back.log(); providers(back) != "" || strings.Contains(log, "stays so") {
		t.Errorf("without them in its documents the service has %q:\n%s", providers(back), log)
	}
	silent := back.next(t, "web:5")
	silent.service = spot.service
	silent.succeeds(t, ecslane.OpRolling)
	silent = silent.next(t, "web:6")
	silent.service = strings.Replace(first.service, "launchType: FARGATE\n", "", 1)
	silent.succeeds(t, ecslane.OpRolling)
	if got := providers(silent); got != "FARGATE_SPOT" {
		t.Errorf("of documents that say nothing the capacity providers are %q; want those that there were", got)
	}
}
