package ecs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// moved is a stage of a service whose traffic ECS moves itself.
func moved(t *testing.T, configuration string) *stage {
	t.Helper()
	s := newStage(t)
	s.service = strings.Replace(s.service, "deploymentConfiguration: {", "deploymentConfiguration: {"+configuration+", ", 1)
	return s
}

// ECS moves the traffic by its own strategies: the step waits for what ECS does,
// the bake time included, and a rollback leads the traffic back.
func TestECSMovesTheTraffic(t *testing.T) {
	t.Parallel()
	s := moved(t, "strategy: BLUE_GREEN, bakeTimeInMinutes: 2")
	f := newFront(t, s)
	s.service = strings.Replace(s.service, balanced, "loadBalancers: [{targetGroupArn: "+f.A+", containerName: web, containerPort: 80, advancedConfiguration: {alternateTargetGroupArn: "+
		f.B+", productionListenerRule: "+f.Rules[0]+", roleArn: 'arn:aws:iam::123456789012:role/ecs'}}]\n", 1)
	traffic := func(want string) {
		t.Helper()
		out, err := f.API.DescribeRules(t.Context(), &elb.DescribeRulesInput{RuleArns: []string{f.Rules[0]}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, g := range out.Rules[0].Actions[0].ForwardConfig.TargetGroups {
			if *g.Weight > 0 {
				got += map[string]string{f.A: "a", f.B: "b"}[*g.TargetGroupArn]
			}
		}
		if got != want {
			t.Errorf("production's traffic goes to %q; want %q", got, want)
		}
	}
	s.succeeds(t, ecslane.OpRolling)
	traffic("a")
	before := s.state(t)
	next := s.next(t, "web:2")
	next.succeeds(t, ecslane.OpRolling)
	traffic("b")
	if got := next.running(t); got != "web:2" || next.live(t, "web").RunningCount != 2 {
		t.Errorf("%d tasks run %s", next.live(t, "web").RunningCount, got)
	}
	if log := next.env.Text("Deploy", executor.Info); !strings.Contains(log, "at the stage BAKE_TIME; 2/2 running") {
		t.Errorf("the log doesn't tell of the bake time:\n%s", log)
	}
	next.succeeds(t, ecslane.OpRollingRollback)
	traffic("a")
	if diff := cmp.Diff(definitionsAside(before), definitionsAside(next.state(t))); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	next.succeeds(t, ecslane.OpRolling) // the same again
	traffic("b")
}

// By shares, a step is over when all of them are.
func TestECSMovesTheTrafficByShares(t *testing.T) {
	t.Parallel()
	for name, configuration := range map[string]string{
		"linear": "strategy: LINEAR, linearConfiguration: {stepPercent: 50, stepBakeTimeInMinutes: 1}",
		"canary": "strategy: CANARY, canaryConfiguration: {canaryPercent: 10, canaryBakeTimeInMinutes: 1}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := moved(t, configuration)
			s.succeeds(t, ecslane.OpRolling)
			next := s.next(t, "web:2")
			next.succeeds(t, ecslane.OpRolling)
			if log := next.env.Text("Deploy", executor.Info); !strings.Contains(log, "at the stage PRODUCTION_TRAFFIC_SHIFT") || next.running(t) != "web:2" {
				t.Errorf("%s runs; the log:\n%s", next.running(t), log)
			}
			next.refused(t, "deploy it with EcsRollingDeploy", ecslane.OpCanary)
		})
	}
}

// What comes to nothing fails with ECS's reason, and a rollback finds it undone,
// or has ECS undo it.
func TestECSMovesTheTrafficBack(t *testing.T) {
	t.Parallel()
	first := moved(t, "strategy: BLUE_GREEN, bakeTimeInMinutes: 0")
	first.succeeds(t, ecslane.OpRolling)
	before := first.state(t)
	back := func(s *stage, want ...string) {
		t.Helper()
		since := len(s.Calls())
		s.succeeds(t, ecslane.OpRollingRollback)
		changed := slices.DeleteFunc(s.changes(since), func(call string) bool { return strings.HasSuffix(call, "Resource") })
		if !slices.Equal(want, changed) {
			t.Errorf("the rollback of %s calls %v; want %v", s.image, changed, want)
		}
		if diff := cmp.Diff(definitionsAside(before), definitionsAside(s.state(t))); diff != "" {
			t.Errorf("taken back (-want +got):\n%s", diff)
		}
	}
	crashes := first.next(t, "web:crash-2")
	crashes.refused(t, "ECS rolled back: Service deployment rolled back because the circuit breaker", ecslane.OpRolling)
	back(crashes)
	counts := first.next(t, "web:crash-2")
	counts.service = strings.Replace(counts.service, "desiredCount: 2", "desiredCount: 3", 1)
	counts.refused(t, "ECS rolled back", ecslane.OpRolling)
	back(counts, "UpdateService") // of the count, which ECS has left

	aborted := first.next(t, "web:slow-3")
	aborted.Hold()
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		aborted.Await("ecs:DescribeServiceDeployments", aborted.Count("ecs:DescribeServiceDeployments")+2)
		stop(executor.ErrCancelled)
	}()
	if _, err := aborted.kind.Do(ctx, aborted.assignment(t, ecslane.OpRolling), aborted.env.Env); !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("got %v; want that it was cancelled", err)
	}
	aborted.Go()
	back(aborted, "StopServiceDeployment")

	other := first.next(t, "web:slow-4")
	other.Hold() // or else it is done before the other request comes
	replaced := make(chan struct{})
	looks := other.Count("ecs:DescribeServiceDeployments") + 2
	go func() {
		defer close(replaced)
		other.Await("ecs:DescribeServiceDeployments", looks)
		defer other.Go()
		_, err := other.client().UpdateService(t.Context(), &awsecs.UpdateServiceInput{Cluster: sdk.String("test"), Service: sdk.String("web"), ForceNewDeployment: true})
		if err != nil {
			t.Error(err)
		}
	}()
	other.refused(t, "the deployment was stopped", ecslane.OpRolling)
	<-replaced

	denied := first.next(t, "web:5")
	denied.Fail("ecs:ListServiceDeployments", testaws.Fault{Code: "AccessDeniedException", Times: 1})
	since := len(denied.Calls())
	denied.refused(t, "ecs:ListServiceDeployments", ecslane.OpRolling)
	if slices.Contains(denied.changes(since), "UpdateService") {
		t.Error("the service was updated by who can't see what comes of it")
	}
}
