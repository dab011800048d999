package asg_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	smithymiddleware "github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/task"
)

// through is a delegate whose calls go through middleware.
func (s *stage) through(add func(*smithymiddleware.Stack) error) executor.Kind {
	return s.with(config.WithAPIOptions([]func(*smithymiddleware.Stack) error{add}))
}

// killed does a task until the delegate is killed.
func (s *stage) killed(t *testing.T, k *testaws.Killer, op asglane.Op, change ...func(*asglane.Spec)) {
	t.Helper()
	r, err := s.through(k.Add).Do(k.Living(t.Context()), s.assignment(t, op, change...), s.env.Env)
	if k.At == 0 && (err != nil || r.Status != task.Succeeded) {
		t.Fatalf("%s is %s: %s, %v\n%s", op, r.Status, r.Message, err, s.log())
	}
	if k.At > 0 && err == nil {
		t.Errorf("killed at %d, %s is %s: %s", k.At, op, r.Status, r.Message)
	}
}

// expires does a task whose time is up.
func (s *stage) expires(t *testing.T, op asglane.Op, change ...func(*asglane.Spec)) task.Result {
	t.Helper()
	r, err := s.kind.Do(executortest.Ending(t.Context(), 4*time.Second), s.assignment(t, op, change...), s.env.Env)
	if err != nil || r.Status != task.Failed || !slices.Equal(r.FailureTypes, []fault.FailureType{fault.Timeout}) {
		t.Fatalf("%s is %+v, %v; want a timeout\n%s", op, r, err, s.log())
	}
	return r
}

// requestOf is a launch template that starts an image.
func requestOf(image string) *ec2types.RequestLaunchTemplateData {
	return &ec2types.RequestLaunchTemplateData{ImageId: &image}
}

// state is all that the stage may have changed, for people, once no machine comes or
// goes.
func (s *stage) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"web", "web__Canary", "web__1", "web__2", "web__3"} {
		s.rests(t, name)
		fmt.Fprintln(&b, name, s.runs(t, name), s.isAround(t, name))
	}
	all, err := s.machines().DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all.LaunchTemplates {
		fmt.Fprintln(&b, "launch template", *one.LaunchTemplateName, *one.LatestVersionNumber)
	}
	return b.String()
}

// rests waits until no machine of a group comes or goes.
func (s *stage) rests(t *testing.T, name string) {
	t.Helper()
	moves := func(one *types.AutoScalingGroup) bool {
		return len(one.Instances) != int(*one.DesiredCapacity) ||
			slices.ContainsFunc(one.Instances, func(i types.Instance) bool { return i.LifecycleState != types.LifecycleStateInService })
	}
	for one := s.live(t, name); one != nil && moves(one); one = s.live(t, name) {
		continue // time passes with the calls
	}
}

// versionsAside is a state without how many versions a template has, of which none is
// ever deleted.
func versionsAside(state string) string {
	var lines []string
	for line := range strings.Lines(state) {
		if name, ok := strings.CutPrefix(line, "launch template "); ok {
			line, _, _ = strings.Cut(name, " ")
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// Killed after it has started a refresh and delivered again, the step starts no
// other one.
func TestDeliveredAgainAfterTheRefresh(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling)
	s := first.next(t, "web-2")
	k := &testaws.Killer{At: 3}
	s.killed(t, k, asglane.OpRolling)
	if k.Calls[2] != "StartInstanceRefresh" {
		t.Fatalf("the calls are %v", k.Calls)
	}
	s.succeeds(t, asglane.OpRolling)
	if n := s.Count("autoscaling:StartInstanceRefresh"); n != 1 || s.runs(t, "web") != "version 2, 1 to 4, 2 desired: 2 2" {
		t.Errorf("%d refreshes, and the group is %s", n, s.runs(t, "web"))
	}
}

// A call that is sent twice because its answer was lost does what it does once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	lost := func(s *stage, operations ...string) {
		for _, operation := range operations {
			s.Fail(operation, testaws.Fault{Cut: testaws.CutAfter, Times: 1})
		}
	}
	lost(first, "ec2:CreateLaunchTemplate", "autoscaling:CreateAutoScalingGroup")
	first.succeeds(t, asglane.OpRolling, around)
	s := first.next(t, "web-2")
	lost(s, "ec2:CreateLaunchTemplateVersion", "autoscaling:StartInstanceRefresh", "autoscaling:DeletePolicy", "autoscaling:DeleteScheduledAction")
	s.succeeds(t, asglane.OpRolling)
	if got := s.runs(t, "web"); got != "version 2, 1 to 4, 2 desired: 2 2" {
		t.Errorf("the group is %s", got)
	}
	fresh := first.next(t, "web-3")
	fresh.succeeds(t, asglane.OpCanary, count(1))
	lost(fresh, "autoscaling:DeleteAutoScalingGroup", "ec2:DeleteLaunchTemplate")
	fresh.succeeds(t, asglane.OpCanaryDelete)
}

// A step that AWS refuses in the middle fails with its reason, and is taken back.
func TestDeniedInTheMiddle(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling)
	before := first.state(t)
	s := first.next(t, "web-2")
	s.Fail("autoscaling:StartInstanceRefresh", testaws.Fault{Code: "AccessDenied", Message: "User is not authorized to perform: autoscaling:StartInstanceRefresh on web", Times: 1})
	r := s.refused(t, "autoscaling:StartInstanceRefresh", asglane.OpRolling)
	if len(r.FailureTypes) != 1 || r.FailureTypes[0] != fault.Authorization || !strings.Contains(r.Message, "the caller is arn:aws:") {
		t.Errorf("it failed by %v: %s", r.FailureTypes, r.Message)
	}
	s.succeeds(t, asglane.OpRollingRollback)
	if diff := cmp.Diff(versionsAside(before), versionsAside(s.state(t))); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// An account that throttles every third call makes a step slower, and no worse.
func TestThrottled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.kind = s.through((&testaws.Throttler{}).Add)
	backOff := func(s *asglane.Spec) {
		s.Target.AWS.BackOff = &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 5, Fixed: 1}
	}
	s.succeeds(t, asglane.OpRolling, backOff, around)
	next := s.next(t, "web-2")
	next.succeeds(t, asglane.OpRolling, backOff)
	next.succeeds(t, asglane.OpRollingRollback, backOff)
	if got := next.runs(t, "web"); got != "version 1, 1 to 4, 2 desired: 1 1" {
		t.Errorf("after the rollback the group is %s", got)
	}
}

// A step whose time is up says how things stood; one that is aborted changes
// nothing any more. AWS goes on in both cases, until the rollback.
func TestStopped(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling)
	timeout := first.next(t, "slow-2")
	timeout.Hold()
	if r := timeout.expires(t, asglane.OpRolling); !strings.Contains(r.Message, "Percentage completed: 0") {
		t.Errorf("it failed by %s; want how far it was", r.Message)
	}
	timeout.Go()
	timeout.succeeds(t, asglane.OpRollingRollback)

	s := first.next(t, "slow-3")
	s.Hold()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	begun := s.Count("autoscaling:StartInstanceRefresh")
	go func() {
		s.Await("autoscaling:StartInstanceRefresh", begun+1)
		stop(executor.ErrCancelled)
	}()
	if _, err := s.kind.Do(ctx, s.assignment(t, asglane.OpRolling), s.env.Env); !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("got %v; want that it was cancelled", err)
	}
	s.Go()
	s.succeeds(t, asglane.OpRollingRollback)
	if got := s.runs(t, "web"); got != "version 1, 1 to 4, 2 desired: 1 1" {
		t.Errorf("after the rollbacks the group is %s", got)
	}
}
