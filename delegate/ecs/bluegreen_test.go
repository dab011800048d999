package ecs_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// front is a load balancer before the services of a stage.
type front struct {
	*testaws.Front
	stage *stage
}

const balanced = "loadBalancers: [{targetGroupArn: <+targetGroupArn>, containerName: web, containerPort: 80}]\n"

// newFront puts a load balancer before the services of a stage.
func newFront(t *testing.T, s *stage) *front {
	t.Helper()
	s.service += balanced
	return &front{s.Front("shop", elbtypes.TargetTypeEnumIp), s}
}

// copy is the same in a copy of the account.
func (f *front) copy(t *testing.T) *front {
	t.Helper()
	s := f.stage.copy(t)
	return &front{f.In(s.World), s}
}

// swapped are the fields of a step whose target groups will be swapped.
func (f *front) swapped(s *ecslane.Spec) {
	s.BlueGreen = &ecslane.BlueGreen{
		LoadBalancer: "shop", ProdListener: f.Listeners[0], ProdRule: f.Rules[0], StageListener: f.Listeners[1], StageRule: f.Rules[1],
	}
}

// shifted are the fields of a step whose new service is behind b, at one rule.
func (f *front) shifted(s *ecslane.Spec) { f.shiftedTo(f.B)(s) }

// shiftedTo are those of one whose new service is behind another target group.
func (f *front) shiftedTo(group string) func(*ecslane.Spec) {
	return func(s *ecslane.Spec) {
		s.BlueGreen = &ecslane.BlueGreen{LoadBalancer: "shop", ProdListener: f.Listeners[0], ProdRule: f.Rules[0], Shift: true, StageTargetGroup: group}
	}
}

// shift is how much of the traffic goes to the new service.
func shift(percent int) func(*ecslane.Spec) {
	return func(s *ecslane.Spec) { s.Shift = &awslane.Shift{Percentage: &percent} }
}

// shifting makes a service behind a target group and gives it all of the traffic.
func (f *front) shifting(t *testing.T, image, group string) *stage {
	t.Helper()
	s := f.next(t, image)
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.shiftedTo(group), withScaling)
	s.succeeds(t, ecslane.OpTrafficShift, shift(100))
	return s
}

// shared is a load balancer whose rule has both target groups, with two services of
// which the second one, behind a, has all of the traffic.
func shared(t *testing.T) *front {
	t.Helper()
	f := newFront(t, newStage(t))
	f.Set(f.Rules[0], f.Both(100, 0))
	f.shifting(t, "web:1", f.B)
	f.shifting(t, "web:2", f.A)
	return f
}

// behind is a load balancer before two services of which the second one has the
// traffic.
func behind(t *testing.T) *front {
	t.Helper()
	f := newFront(t, newStage(t))
	f.bluegreen(t, "web:1")
	f.bluegreen(t, "web:2")
	return f
}

// next is the next execution, with another image.
func (f *front) next(t *testing.T, image string) *stage {
	t.Helper()
	f.stage = f.stage.next(t, image)
	return f.stage
}

// bluegreen makes a service and swaps the target groups.
func (f *front) bluegreen(t *testing.T, image string) *stage {
	t.Helper()
	s := f.next(t, image)
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
	s.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
	return s
}

func swapping(s *ecslane.Spec) { s.Swap = &ecslane.Swap{} }

// colour is what the tag of a service says.
func (s *stage) colour(t *testing.T, name string) string {
	t.Helper()
	live := s.live(t, name)
	if live == nil {
		t.Fatalf("there is no service %s", name)
	}
	for _, tag := range live.Tags {
		if *tag.Key == "BG_VERSION" {
			return *tag.Value
		}
	}
	return ""
}

// tasks is how many a service should have; -1 if there is no such service.
func (s *stage) tasks(t *testing.T, name string) int32 {
	t.Helper()
	if live := s.live(t, name); live != nil {
		return live.DesiredCount
	}
	return -1
}

// The first service, the next ones, what makes
// room, and the way back.
func TestBlueGreen(t *testing.T) {
	t.Parallel()
	f := newFront(t, newStage(t))
	s := f.next(t, "web:1")
	r := s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
	if got := s.colour(t, "web__1"); got != "GREEN" {
		t.Errorf("before the swap the first service is %q", got)
	}
	for name, want := range map[string]any{"newServiceName": "web__1", "prodTargetGroupArn": f.A, "stageTargetGroupArn": f.B, "prodListenerRuleArn": f.Rules[0], "oldServiceName": nil} {
		if got := output(t, r, name); got != want {
			t.Errorf("output %s is %v; want %v", name, got, want)
		}
	}
	s.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
	if prod, stage := f.Traffic(f.Rules[0]), f.Traffic(f.Rules[1]); prod != "b" || stage != "a" || s.colour(t, "web__1") != "BLUE" {
		t.Errorf("after the first swap traffic goes to %s, the stage's to %s, the service is %s", prod, stage, s.colour(t, "web__1"))
	}

	s = f.bluegreen(t, "web:2")
	if s.tasks(t, "web__1") != 0 || s.tasks(t, "web__2") != 2 || s.colour(t, "web__1") != "GREEN" || s.colour(t, "web__2") != "BLUE" || f.Traffic(f.Rules[0]) != "a" {
		t.Errorf("after the second: %d and %d tasks, %s and %s, traffic to %s",
			s.tasks(t, "web__1"), s.tasks(t, "web__2"), s.colour(t, "web__1"), s.colour(t, "web__2"), f.Traffic(f.Rules[0]))
	}
	s = f.bluegreen(t, "web:3")
	if s.live(t, "web__1") != nil || s.tasks(t, "web__2") != 0 || s.tasks(t, "web__3") != 2 {
		t.Errorf("after the third: web__1 %d, web__2 %d, web__3 %d tasks", s.tasks(t, "web__1"), s.tasks(t, "web__2"), s.tasks(t, "web__3"))
	}

	since := len(s.Calls())
	s.succeeds(t, ecslane.OpBlueGreenRollback)
	want := []string{"UpdateService", "ModifyRule", "ModifyRule", "TagResource", "TagResource", "UpdateService"}
	if diff := cmp.Diff(want, s.changes(since)); diff != "" {
		t.Errorf("changes of the rollback (-want +got):\n%s", diff)
	}
	if s.tasks(t, "web__2") != 2 || s.tasks(t, "web__3") != 0 || f.Traffic(f.Rules[0]) != "a" || f.Traffic(f.Rules[1]) != "b" || s.colour(t, "web__2") != "BLUE" || s.colour(t, "web__3") != "GREEN" {
		t.Errorf("after the rollback: %d and %d tasks, traffic to %s and %s, %s and %s",
			s.tasks(t, "web__2"), s.tasks(t, "web__3"), f.Traffic(f.Rules[0]), f.Traffic(f.Rules[1]), s.colour(t, "web__2"), s.colour(t, "web__3"))
	}
	since = len(s.Calls())
	s.succeeds(t, ecslane.OpBlueGreenRollback)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("the second rollback changes %v", got)
	}

	// The one without traffic is updated.
	s = f.next(t, "web:4")
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped, func(s *ecslane.Spec) { s.BlueGreen.UpdateGreen = true })
	if s.tasks(t, "web__3") != 2 || s.tasks(t, "web__4") != -1 || s.Count("ecs:DeleteService") != 1 {
		t.Errorf("after an update: web__3 %d, web__4 %d tasks, %d services deleted", s.tasks(t, "web__3"), s.tasks(t, "web__4"), s.Count("ecs:DeleteService"))
	}
}

// The first service of all that is taken back, once it has the traffic, stays without
// tasks, and nobody has the traffic, as before.
func TestTheFirstColourIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, deploy := range map[string]func(*testing.T, *front) *stage{
		"a swap": func(t *testing.T, f *front) *stage {
			t.Helper()
			s := f.next(t, "web:1")
			s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped, withScaling)
			s.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
			return s
		},
		"shifts": func(t *testing.T, f *front) *stage {
			t.Helper()
			return f.shifting(t, "web:1", f.B)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, newStage(t))
			f.Set(f.Rules[0], f.Both(100, 0))
			if name == "a swap" {
				f.Set(f.Rules[0], testaws.To(f.A, 1))
			}
			before := f.state(t, "web__1")
			s := deploy(t, f)
			s.succeeds(t, ecslane.OpBlueGreenRollback)
			if diff := cmp.Diff(before, f.state(t, "web__1")); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
			if live := s.live(t, "web__1"); live.DesiredCount != 0 || live.RunningCount != 0 || s.colour(t, "web__1") != "GREEN" || s.scales(t, "web__1").targets != "[]" {
				t.Errorf("the service is %s", s.shows(t, "web__1"))
			}
		})
	}
}

// Shifts from a service that serves to the next one, and back.
func TestTrafficShiftOfAnUpdate(t *testing.T) {
	t.Parallel()
	f := shared(t)
	s := f.next(t, "web:3")
	before := f.state(t, "web__3")
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.shifted, withScaling)
	for _, step := range []struct {
		percent         int
		want, old, next string
	}{{0, "a 100, b 0", "BLUE", "GREEN"}, {30, "a 70, b 30", "BLUE", "GREEN"}, {100, "a 0, b 100", "GREEN", "BLUE"}} {
		s.succeeds(t, ecslane.OpTrafficShift, shift(step.percent))
		if got := f.Traffic(f.Rules[0]); got != step.want || s.colour(t, "web__2") != step.old || s.colour(t, "web__3") != step.next {
			t.Errorf("at %d traffic goes to %s, the services are %s and %s; want %+v", step.percent, got, s.colour(t, "web__2"), s.colour(t, "web__3"), step)
		}
	}
	s.succeeds(t, ecslane.OpBlueGreenRollback)
	if diff := cmp.Diff(without("web__1", before), f.state(t, "web__3")); diff != "" { // it made room
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	if live := s.live(t, "web__3"); live.DesiredCount != 0 || live.RunningCount != 0 {
		t.Errorf("the new service is %s", s.shows(t, "web__3"))
	}
}

// A rollback where nothing was done changes nothing, and asks nothing of AWS.
func TestNothingToGiveBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, op := range []ecslane.Op{ecslane.OpBlueGreenRollback, ecslane.OpShiftRollback} {
		s.succeeds(t, op)
	}
	if got := s.Calls(); len(got) > 0 {
		t.Errorf("it asks %v", got)
	}
	if log := s.env.Text("Rollback", executor.Info); strings.Count(log, "Nothing to roll back") != 2 {
		t.Errorf("the log is\n%s", log)
	}
}

// What has traffic never makes room.
func TestTheLiveServiceStays(t *testing.T) {
	t.Parallel()
	f := newFront(t, newStage(t))
	f.bluegreen(t, "web:1") // behind b, which has the traffic now
	s := f.next(t, "web:2")
	since := len(s.Calls())
	// The rules were given the other way round: the stage's is where the traffic goes.
	turned := func(s *ecslane.Spec) {
		f.swapped(s)
		s.BlueGreen.StageListener, s.BlueGreen.StageRule = f.Listeners[0], f.Rules[0]
	}
	s.succeeds(t, ecslane.OpBlueGreenCreate, turned) // one rule for both: no swap, nothing deleted
	if got := s.changes(since); cmp.Diff([]string{"RegisterTaskDefinition", "CreateService", "TagResource"}, got) != "" {
		t.Errorf("with one rule for both it changes %v\n%s", got, s.log())
	}
	f.Set(f.Rules[0], f.Both(0, 100))
	s = f.next(t, "web:3")
	since = len(s.Calls())
	s.refused(t, "want "+f.A+" there", ecslane.OpBlueGreenCreate, f.shifted)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("it was refused and changes %v", got)
	}
}

// A swap that was killed half way is finished.
func TestASwapThatWasKilled(t *testing.T) {
	t.Parallel()
	f := newFront(t, newStage(t))
	s := f.next(t, "web:1")
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
	s.Fail("elasticloadbalancing:ModifyRule", testaws.Fault{Code: "AccessDenied", Message: "not you", After: 1, Times: 1})
	r := s.does(t, ecslane.OpBlueGreenSwap, swapping)
	if r.Status != task.Failed || f.Traffic(f.Rules[0]) != "b" || f.Traffic(f.Rules[1]) != "b" {
		t.Fatalf("half way it is %s with traffic to %s and %s", r.Status, f.Traffic(f.Rules[0]), f.Traffic(f.Rules[1]))
	}
	since := len(s.Calls())
	s.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
	if got := s.changes(since); cmp.Diff([]string{"ModifyRule", "TagResource"}, got) != "" || f.Traffic(f.Rules[1]) != "a" {
		t.Errorf("the second time it changes %v; the stage's traffic goes to %s", got, f.Traffic(f.Rules[1]))
	}
}

// Traffic isn't given to a service that can't answer.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	f := newFront(t, newStage(t))
	s := f.next(t, "web:1")
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
	if _, err := s.client().UpdateService(t.Context(), &awsecs.UpdateServiceInput{Cluster: sdk.String("test"), Service: sdk.String("web__1"), DesiredCount: sdk.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	f.Leave(f.B)
	s.refused(t, "none of the 0 targets", ecslane.OpBlueGreenSwap, swapping)
	if f.Traffic(f.Rules[0]) != "a" {
		t.Errorf("traffic goes to %s", f.Traffic(f.Rules[0]))
	}
}

// Only the action that forwards is changed.
func TestALoginStays(t *testing.T) {
	t.Parallel()
	f := newFront(t, newStage(t))
	login := elbtypes.Action{Type: elbtypes.ActionTypeEnumAuthenticateOidc, Order: sdk.Int32(1), AuthenticateOidcConfig: &elbtypes.AuthenticateOidcActionConfig{
		Issuer: sdk.String("https://id.example.com"), AuthorizationEndpoint: sdk.String("https://id.example.com/a"), TokenEndpoint: sdk.String("https://id.example.com/t"),
		UserInfoEndpoint: sdk.String("https://id.example.com/u"), ClientId: sdk.String("web"), ClientSecret: sdk.String("s3cret"),
	}}
	forward := testaws.To(f.A, 1)
	forward[0].Order = sdk.Int32(2)
	f.Set(f.Rules[0], append([]elbtypes.Action{login}, forward...))
	s := f.bluegreen(t, "web:1")
	calls := s.CallsOf("elasticloadbalancing:ModifyRule")
	var in elb.ModifyRuleInput
	calls[1].Decode(t, &in) // the first is the test's own
	if len(in.Actions) != 2 || in.Actions[0].AuthenticateOidcConfig == nil || in.Actions[0].AuthenticateOidcConfig.ClientSecret != nil || !sdk.ToBool(in.Actions[0].AuthenticateOidcConfig.UseExistingClientSecret) {
		t.Errorf("the rule gets %+v", in.Actions)
	}
	if strings.Contains(string(s.env.Kept()[0].Data), "s3cret") {
		t.Error("the checkpoint has the client secret")
	}
}

// Shifts at the rule of the new service, and at
// another one.
func TestTrafficShift(t *testing.T) {
	t.Parallel()
	f := newFront(t, newStage(t))
	f.Set(f.Rules[0], f.Both(100, 0))
	dev := f.Rule(f.Listeners[0], testaws.To(f.A, 1))
	s := f.next(t, "web:1")
	s.succeeds(t, ecslane.OpBlueGreenCreate, f.shifted)
	alone := func(rule string, weights ...int) func(*ecslane.Spec) {
		return func(s *ecslane.Spec) {
			s.Shift = &awslane.Shift{LoadBalancer: f.Balancer, Listener: f.Listeners[0], Rule: rule}
			for i, w := range weights {
				s.Shift.Forward = append(s.Shift.Forward, awslane.Forward{TargetGroup: []string{f.B, f.A, "c", "d", "e", "f"}[i], Weight: w})
			}
		}
	}
	for _, step := range []struct {
		change func(*ecslane.Spec)
		rule   string
		want   string
		colour string
		calls  []string
	}{
		{shift(50), f.Rules[0], "a 50, b 50", "GREEN", []string{"ModifyRule"}},
		{shift(50), f.Rules[0], "a 50, b 50", "GREEN", nil},
		{shift(100), f.Rules[0], "a 0, b 100", "BLUE", []string{"ModifyRule", "TagResource"}},
		{shift(100), f.Rules[0], "a 0, b 100", "BLUE", nil},
		{alone(dev, 70, 30), dev, "a 30, b 70", "BLUE", []string{"ModifyRule"}},
		{alone(dev, 7), dev, "b", "BLUE", []string{"ModifyRule"}},
	} {
		since := len(s.Calls())
		s.succeeds(t, ecslane.OpTrafficShift, step.change)
		if got := f.Traffic(step.rule); got != step.want || s.colour(t, "web__1") != step.colour {
			t.Errorf("traffic goes to %s, the service is %s; want %s, %s", got, s.colour(t, "web__1"), step.want, step.colour)
		}
		if diff := cmp.Diff(step.calls, s.changes(since)); diff != "" {
			t.Errorf("changes for %s (-want +got):\n%s", step.want, diff)
		}
	}
	since := len(s.Calls())
	s.refused(t, "is the rule of the stage's EcsBlueGreenCreateService", ecslane.OpTrafficShift, alone(f.Rules[0], 1, 1))
	s.refused(t, "found 6 target groups", ecslane.OpTrafficShift, alone(dev, 1, 1, 1, 1, 1, 1))
	s.refused(t, "all weights are 0", ecslane.OpTrafficShift, alone(dev, 0, 0))
	s.refused(t, "isTrafficShift: true", ecslane.OpBlueGreenSwap, swapping)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("what was refused changes %v", got)
	}
	s.succeeds(t, ecslane.OpShiftRollback)
	if got := f.Traffic(dev); got != "a" {
		t.Errorf("after the rollback of the shift traffic goes to %s", got)
	}
	s.succeeds(t, ecslane.OpBlueGreenRollback)
	if got := f.Traffic(f.Rules[0]); got != "a 100, b 0" || s.tasks(t, "web__1") != 0 {
		t.Errorf("after the rollback traffic goes to %s, the new service has %d tasks", got, s.tasks(t, "web__1"))
	}
}

// state is all that blue/green steps of a stage may have changed, for people.
// Aside is a service that isn't told of.
func (f *front) state(t *testing.T, aside string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"web__1", "web__2", "web__3"} {
		if name != aside {
			fmt.Fprint(&b, f.stage.shows(t, name))
		}
	}
	fmt.Fprintln(&b, "traffic to", f.Traffic(f.Rules[0]), "and", f.Traffic(f.Rules[1]))
	return b.String()
}
