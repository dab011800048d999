package ecs_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	smithymiddleware "github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/ecs"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// with is a delegate whose calls go through middleware.
func (s *stage) with(add func(*smithymiddleware.Stack) error) executor.Kind {
	return ecs.Kind(ecs.Config{
		Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{
			config.WithBaseEndpoint(s.Endpoint), config.WithAPIOptions([]func(*smithymiddleware.Stack) error{add}),
		}},
		Pace: awswait.Every(10 * time.Millisecond),
	})
}

// killed does a task until the delegate is killed.
func (s *stage) killed(t *testing.T, k *testaws.Killer, op ecslane.Op, change ...func(*ecslane.Spec)) {
	t.Helper()
	r, err := s.with(k.Add).Do(k.Living(t.Context()), s.assignment(t, op, change...), s.env.Env)
	if k.At == 0 && (err != nil || r.Status != task.Succeeded) {
		t.Fatalf("%s is %s: %s, %v\n%s", op, r.Status, r.Message, err, s.log())
	}
	if k.At > 0 && err == nil {
		t.Errorf("killed at %d, %s is %s: %s", k.At, op, r.Status, r.Message)
	}
}

// state is all that the stage may have changed, for people.
func (s *stage) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"web", "webCanary"} {
		fmt.Fprint(&b, s.shows(t, name))
		if one := s.live(t, name); one != nil {
			fmt.Fprintln(&b, "    ", one.RunningCount, "running", len(one.Deployments), "deployments")
		}
	}
	for _, name := range []string{"web__1", "web__2", "web__3"} {
		fmt.Fprint(&b, s.shows(t, name))
	}
	all, err := s.client().ListTaskDefinitions(t.Context(), &awsecs.ListTaskDefinitionsInput{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, len(all.TaskDefinitionArns), "task definitions")
	return b.String()
}

// shows is a service with its tags and what scales it, for people.
func (s *stage) shows(t *testing.T, name string) string {
	t.Helper()
	one := s.live(t, name)
	if one == nil {
		return name + " isn't there\n"
	}
	d, err := s.client().DescribeTaskDefinition(t.Context(), &awsecs.DescribeTaskDefinitionInput{TaskDefinition: one.TaskDefinition})
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, tag := range one.Tags {
		tags = append(tags, *tag.Key+"="+*tag.Value)
	}
	slices.Sort(tags)
	scales := s.scales(t, name)
	return fmt.Sprintln(name, *d.TaskDefinition.ContainerDefinitions[0].Image, one.DesiredCount, "desired", strings.Join(tags, " "), scales.targets, scales.policies)
}

// without is a state in which a service isn't there.
func without(name, state string) string {
	return regexp.MustCompile("(?m)^"+name+" .*$").ReplaceAllLiteralString(state, name+" isn't there")
}

// definitionsAside is a state without its task definitions, of which none is ever
// deregistered.
func definitionsAside(state string) string {
	var lines []string
	for line := range strings.Lines(state) {
		if !strings.Contains(line, "task definitions") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// A step that AWS refuses in the middle fails with its reason, and is taken back.
func TestDeniedInTheMiddle(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling, withScaling)
	before := first.state(t)
	s := first.next(t, "web:2")
	s.Fail("ecs:UpdateService", testaws.Fault{Code: "AccessDeniedException", Message: "User is not authorized to perform: ecs:UpdateService on web", Times: 1})
	r := s.refused(t, "ecs:UpdateService", ecslane.OpRolling, withScaling)
	if len(r.FailureTypes) != 1 || r.FailureTypes[0] != fault.Authorization || !strings.Contains(r.Message, "the caller is arn:aws:") {
		t.Errorf("it failed by %v: %s", r.FailureTypes, r.Message)
	}
	s.succeeds(t, ecslane.OpRollingRollback)
	if diff := cmp.Diff(definitionsAside(before), definitionsAside(s.state(t))); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// An account that throttles every third call makes a step slower, and no worse.
func TestThrottled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.kind = s.with((&testaws.Throttler{}).Add)
	backOff := func(s *ecslane.Spec) {
		s.Target.AWS.BackOff = &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 5, Fixed: 1}
	}
	s.succeeds(t, ecslane.OpRolling, withScaling, backOff)
	next := s.next(t, "web:2")
	next.succeeds(t, ecslane.OpRolling, withScaling, backOff)
	next.succeeds(t, ecslane.OpRollingRollback, backOff)
	if got := next.running(t); got != "web:1" {
		t.Errorf("after the rollback runs %s", got)
	}
}

// A step whose time is up says how things stood; one that is aborted changes
// nothing any more. ECS goes on in both cases, until the rollback.
func TestStopped(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling)
	for name, tt := range map[string]struct {
		image string
		stop  func(ctx context.Context, s *stage) (context.Context, context.CancelFunc)
		want  func(t *testing.T, r task.Result, err error)
	}{
		"timeout": {
			"web:slow-2", func(ctx context.Context, _ *stage) (context.Context, context.CancelFunc) {
				return executortest.Ending(ctx, 4*time.Second), func() {}
			},
			func(t *testing.T, r task.Result, err error) {
				t.Helper()
				if err != nil || r.Status != task.Failed || len(r.FailureTypes) != 1 || r.FailureTypes[0] != fault.Timeout || !strings.Contains(r.Message, "running") {
					t.Errorf("got %+v, %v; want a timeout with the last counts", r, err)
				}
			},
		},
		"abort": {
			"web:slow-3", func(ctx context.Context, s *stage) (context.Context, context.CancelFunc) {
				ctx, stop := context.WithCancelCause(ctx)
				updates := s.Count("ecs:UpdateService")
				go func() {
					s.Await("ecs:UpdateService", updates+1)
					stop(executor.ErrCancelled)
				}()
				return ctx, func() { stop(nil) }
			},
			func(t *testing.T, _ task.Result, err error) {
				t.Helper()
				if !errors.Is(err, executor.ErrCancelled) {
					t.Errorf("got %v; want that it was cancelled", err)
				}
			},
		},
	} {
		s := first.next(t, tt.image)
		s.Hold()
		ctx, stop := tt.stop(t.Context(), s)
		r, err := s.kind.Do(ctx, s.assignment(t, ecslane.OpRolling), s.env.Env)
		stop()
		tt.want(t, r, err)
		s.Go()
		s.succeeds(t, ecslane.OpRollingRollback)
		if got := s.running(t); got != "web:1" {
			t.Errorf("%s: after the rollback runs %s", name, got)
		}
	}
}

// ECS is still rolling back by itself when the stage does: that is waited for, and
// what scales the service goes on.
func TestRollbackWhileECSRollsBack(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling, withScaling)
	before, scales := first.state(t), first.scales(t, "web")
	s := first.next(t, "web:crash-2")
	s.Hold()
	k := &testaws.Killer{At: 3} // after UpdateService
	s.killed(t, k, ecslane.OpRolling, withScaling)
	if k.Calls[2] != "UpdateService" {
		t.Fatalf("the calls are %v", k.Calls)
	}
	back := func() bool {
		d := s.live(t, "web").Deployments[0]
		return *d.TaskDefinition == *first.live(t, "web").TaskDefinition && d.RolloutState == types.DeploymentRolloutStateInProgress && s.running(t) == "web:1"
	}
	for n := 0; !back(); n++ {
		if s.Pass(time.Second); n > 600 {
			t.Fatalf("ECS doesn't roll back: %+v", s.live(t, "web").Deployments)
		}
	}
	since := len(s.Calls())
	go func() {
		s.Await("ecs:DescribeServices", s.Count("ecs:DescribeServices")+3)
		s.Go()
	}()
	s.succeeds(t, ecslane.OpRollingRollback)
	for _, call := range s.changes(since) {
		if call == "UpdateService" {
			t.Error("the rollback updates the service")
		}
	}
	if diff := cmp.Diff(definitionsAside(before), definitionsAside(s.state(t))); diff != "" || s.scales(t, "web") != scales {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// A call that is sent twice because its answer was lost deletes what is gone.
func TestDeletedTwice(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, ecslane.OpRolling, withScaling)
	s := first.next(t, "web:2")
	for _, operation := range []string{"application-autoscaling:DeleteScalingPolicy", "application-autoscaling:DeregisterScalableTarget"} {
		s.Fail(operation, testaws.Fault{Cut: testaws.CutAfter, Times: 1})
	}
	s.succeeds(t, ecslane.OpRolling)
	if got := s.scales(t, "web"); got.policies != "" {
		t.Errorf("the service is scaled by %+v", got)
	}
}
