package asg_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// front is a load balancer before the groups of a stage.
type front struct {
	*testaws.Front
	stage *stage
}

func newFront(t *testing.T) *front {
	t.Helper()
	s := newStage(t)
	return &front{s.Front("shop", elbtypes.TargetTypeEnumInstance), s}
}

// copy is the same in a copy of the account.
func (f *front) copy(t *testing.T) *front {
	t.Helper()
	s := f.stage.copy(t)
	return &front{f.In(s.World), s}
}

// next is the next execution, with another image.
func (f *front) next(t *testing.T, image string) *stage {
	t.Helper()
	f.stage = f.stage.next(t, image)
	return f.stage
}

// swapped is a load balancer whose target groups are swapped, shared one by whose
// weights traffic is shifted.
func swapped(f *testaws.Front) asglane.Balancer {
	return asglane.Balancer{Name: f.Name, ProdListener: f.Listeners[0], ProdRule: f.Rules[0], StageListener: f.Listeners[1], StageRule: f.Rules[1]}
}

func shared(f *testaws.Front) asglane.Balancer {
	return asglane.Balancer{Name: f.Balancer, ProdListener: f.Listeners[0], ProdRule: f.Rules[0]}
}

// behind are the load balancers of a step.
func behind(all ...asglane.Balancer) func(*asglane.Spec) {
	return func(s *asglane.Spec) { s.Balancers = all }
}

// moving is how much traffic moves, and whether the old group is downsized.
func moving(weight int, downsize bool) func(*asglane.Spec) {
	return func(s *asglane.Spec) { s.Traffic = &asglane.Traffic{Weight: weight, Downsize: downsize} }
}

// bluegreen deploys an image beside the group that has the traffic, and swaps.
func (f *front) bluegreen(t *testing.T, image string) *stage {
	t.Helper()
	s := f.next(t, image)
	s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
	s.succeeds(t, asglane.OpBlueGreenSwap, moving(100, true))
	return s
}

// colour is what the tag of a group says, and to which target groups it is attached.
func (f *front) colour(t *testing.T, name string) string {
	t.Helper()
	live := f.stage.live(t, name)
	if live == nil {
		return "gone"
	}
	out := ""
	for _, tag := range live.Tags {
		if *tag.Key == "BG_VERSION" {
			out = *tag.Value
		}
	}
	for _, arn := range live.TargetGroupARNs {
		out += " " + map[string]string{f.A: "a", f.B: "b"}[arn]
	}
	return out
}

// state is all that blue/green steps may have changed, for people.
func (f *front) state(t *testing.T) string {
	t.Helper()
	letters := strings.NewReplacer(f.A, "a", f.B, "b")
	return letters.Replace(f.stage.state(t)) + fmt.Sprintln("traffic to", sorted(f.Traffic(f.Rules[0])), "and", f.Traffic(f.Rules[1]))
}

// The first group has the traffic at once; the next ones alternate, and get it by a
// swap.
func TestBlueGreen(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	s := f.next(t, "web-1")
	r := s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
	if got := f.colour(t, "web__1"); got != "BLUE a" || output(t, r, "asgName") != "web__1" || output(t, r, "oldAsgName") != nil {
		t.Errorf("the first group is %s, outputs %s", got, r.Outputs)
	}
	since := len(s.Calls())
	s.succeeds(t, asglane.OpBlueGreenSwap, moving(100, true))
	if got := s.changes(since); len(got) > 0 || f.Traffic(f.Rules[0]) != "a" {
		t.Errorf("the first swap changes %v, traffic goes to %s", got, f.Traffic(f.Rules[0]))
	}

	s = f.next(t, "web-2")
	r = s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
	if one, two := f.colour(t, "web__1"), f.colour(t, "web__2"); one != "BLUE a" || two != "GREEN b" || f.Traffic(f.Rules[0]) != "a" || len(r.Changes[0].Instances) != 4 {
		t.Errorf("before the swap the groups are %s and %s, traffic goes to %s, with %d machines", one, two, f.Traffic(f.Rules[0]), len(r.Changes[0].Instances))
	}
	for name, want := range map[string]any{"asgName": "web__2", "newAsgName": "web__2", "oldAsgName": "web__1", "amiId": s.images["web-2"], "desired": 2.0} {
		if got := output(t, r, name); got != want {
			t.Errorf("output %s is %v; want %v", name, got, want)
		}
	}
	if got := serverInstances(t, r); got != "BlueGreen false, BlueGreen false, BlueGreen true, BlueGreen true" {
		t.Errorf("its machines are %s", got)
	}
	s.succeeds(t, asglane.OpBlueGreenSwap, moving(100, true))
	if one, two := f.colour(t, "web__1"), f.colour(t, "web__2"); one != "GREEN a" || two != "BLUE b" || f.Traffic(f.Rules[0]) != "b" || f.Traffic(f.Rules[1]) != "a" {
		t.Errorf("after the swap the groups are %s and %s, traffic goes to %s, the stage's to %s", one, two, f.Traffic(f.Rules[0]), f.Traffic(f.Rules[1]))
	}
	s.becomes(t, "web__1", "version 1, 0 to 4, 0 desired: ")
	if got := s.isAround(t, "web__1"); strings.HasSuffix(got, "cpu nights") {
		t.Errorf("the old group is still scaled: %s", got)
	}

	// The third is the first group again, which has no machines to replace.
	s = f.next(t, "web-3")
	since = len(s.Calls())
	r = s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around, func(s *asglane.Spec) { s.Size = &awslane.Size{Running: true} })
	want := []string{
		"CreateLaunchTemplateVersion", "UpdateAutoScalingGroup", "CreateOrUpdateTags", "PutScalingPolicy", "PutScheduledUpdateGroupAction",
	}
	if diff := cmp.Diff(want, s.changes(since)); diff != "" {
		t.Errorf("changes of the third (-want +got):\n%s", diff)
	}
	if got := s.runs(t, "web__1"); got != "version 2, 1 to 4, 2 desired: 2 2" || output(t, r, "previousVersion") != "1" {
		t.Errorf("the third is %s", got)
	}
	s.succeeds(t, asglane.OpBlueGreenSwap, moving(100, false))
	if one, two := s.runs(t, "web__1"), s.runs(t, "web__2"); f.Traffic(f.Rules[0]) != "a" || two != "version 1, 1 to 4, 2 desired: 1 1" {
		t.Errorf("after the third traffic goes to %s, groups are %s and %s", f.Traffic(f.Rules[0]), one, two)
	}
	// AsgScale is about the group that the stage has deployed.
	if r := s.succeeds(t, asglane.OpScale, count(3)); output(t, r, "asgName") != "web__1" {
		t.Errorf("scaled was %v", output(t, r, "asgName"))
	}

	// The fourth is the second group again, whose machines are replaced.
	s = f.next(t, "web-4")
	s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)))
	if got := s.runs(t, "web__2"); got != "version 2, 1 to 4, 2 desired: 2 2" || f.colour(t, "web__2") != "GREEN b" {
		t.Errorf("the fourth is %s, %s", got, f.colour(t, "web__2"))
	}
}

// The old group serves again before it gets the traffic back, and the new one is as
// it was.
func TestBlueGreenRollback(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.bluegreen(t, "web-1")
	before := f.state(t)
	s := f.bluegreen(t, "web-2")
	since := len(s.Calls())
	s.Fail("elasticloadbalancing:ModifyRule", testaws.Fault{Code: "AccessDenied", Message: "not you", Times: 1})
	s.refused(t, "elasticloadbalancing:ModifyRule", asglane.OpBlueGreenRollback)
	healthy, _ := f.Targets(f.A)
	if got, want := s.runs(t, "web__1"), "version 1, 1 to 4, 2 desired: 1 1"; got != want || healthy != 2 {
		t.Errorf("when the traffic comes back, the old group is %s with %d healthy targets; want %s", got, healthy, want)
	}
	r := s.succeeds(t, asglane.OpBlueGreenRollback)
	want := []string{
		"UpdateAutoScalingGroup", "ModifyRule", "ModifyRule", "ModifyRule", "CreateOrUpdateTags", "PutScalingPolicy", "PutScheduledUpdateGroupAction",
		"DeleteAutoScalingGroup", "DeleteLaunchTemplate",
	}
	if diff := cmp.Diff(want, s.changes(since)); diff != "" {
		t.Errorf("changes of the rollback (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, f.state(t)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	if output(t, r, "asgName") != "web__1" || len(r.Changes[0].Instances) != 2 {
		t.Errorf("after the rollback the outputs are %s, %d machines", r.Outputs, len(r.Changes[0].Instances))
	}
	since = len(s.Calls())
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if got := s.changes(since); !slices.Equal(got, []string{"DeleteLaunchTemplate"}) { // which isn't there
		t.Errorf("the second rollback changes %v", got)
	}

	// A group that was updated is what it was, without machines.
	f.bluegreen(t, "web-3")
	before = versionsAside(f.state(t))
	s = f.bluegreen(t, "web-4")
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if diff := cmp.Diff(before, versionsAside(f.state(t))); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// The first deployment leaves nothing, and one that changed nothing asks nothing.
func TestBlueGreenRollbackOfTheFirst(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	before := f.state(t)
	s := f.next(t, "web-1")
	since := len(s.Calls())
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if calls := s.Calls()[since:]; len(calls) > 0 || !strings.Contains(s.env.Text("Rollback", executor.Info), "Nothing to roll back") {
		t.Errorf("it asks %v", calls)
	}
	s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if diff := cmp.Diff(before, f.state(t)); diff != "" || s.Count("ec2:DeleteLaunchTemplate") != 1 {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// Traffic is shifted by the weights of a rule that both groups share.
func TestShiftTraffic(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.Set(f.Rules[0], f.Both(100, 0))
	s := f.next(t, "web-1")
	s.succeeds(t, asglane.OpBlueGreen, behind(shared(f.Front)))
	s.succeeds(t, asglane.OpShiftTraffic, moving(10, false)) // there is nobody else
	if got := f.Traffic(f.Rules[0]); got != "a 100, b 0" || f.colour(t, "web__1") != "BLUE a" {
		t.Errorf("the first is %s, traffic goes to %s", f.colour(t, "web__1"), got)
	}
	s = f.next(t, "web-2")
	s.succeeds(t, asglane.OpBlueGreen, behind(shared(f.Front)))
	for _, step := range []struct {
		weight   int
		downsize bool
		want     string
		colours  string
		calls    []string
	}{
		{0, false, "a 100, b 0", "BLUE a, GREEN b", nil},
		{40, false, "a 60, b 40", "BLUE a, GREEN b", []string{"ModifyRule"}},
		{40, false, "a 60, b 40", "BLUE a, GREEN b", nil},
		{100, false, "a 0, b 100", "GREEN a, BLUE b", []string{"ModifyRule", "CreateOrUpdateTags", "CreateOrUpdateTags"}},
		{70, false, "a 30, b 70", "BLUE a, GREEN b", []string{"ModifyRule", "CreateOrUpdateTags", "CreateOrUpdateTags"}},
		{100, true, "a 0, b 100", "GREEN a, BLUE b", []string{"ModifyRule", "CreateOrUpdateTags", "CreateOrUpdateTags", "UpdateAutoScalingGroup"}},
		{100, true, "a 0, b 100", "GREEN a, BLUE b", nil},
	} {
		since := len(s.Calls())
		r := s.succeeds(t, asglane.OpShiftTraffic, moving(step.weight, step.downsize))
		if got, colours := f.Traffic(f.Rules[0]), f.colour(t, "web__1")+", "+f.colour(t, "web__2"); sorted(got) != step.want || colours != step.colours {
			t.Errorf("at %d traffic goes to %s, the groups are %s; want %s, %s", step.weight, got, colours, step.want, step.colours)
		}
		if diff := cmp.Diff(step.calls, s.changes(since)); diff != "" {
			t.Errorf("changes at %d (-want +got):\n%s", step.weight, diff)
		}
		if w, ok := output(t, r, "weights").(map[string]any); !ok || w[f.B] != float64(step.weight) {
			t.Errorf("the weights are %v", w)
		}
	}
	// A group without machines gets no traffic.
	s.becomes(t, "web__1", "version 1, 0 to 4, 0 desired: ")
	f.Leave(f.A)
	s.refused(t, "none of the 0 targets", asglane.OpShiftTraffic, moving(50, false))
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if got := f.Traffic(f.Rules[0]); sorted(got) != "a 100, b 0" || s.runs(t, "web__1") != "version 1, 1 to 4, 2 desired: 1 1" || s.live(t, "web__2") != nil {
		t.Errorf("after the rollback traffic goes to %s, the groups are %s and %s", got, s.runs(t, "web__1"), s.runs(t, "web__2"))
	}
}

// sorted are weights in the order of the letters.
func sorted(traffic string) string {
	parts := strings.Split(traffic, ", ")
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Each load balancer has its own way, and the old group keeps its machines as long as
// one of them sends it traffic.
func TestTwoLoadBalancers(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	other := f.stage.Front("intern", elbtypes.TargetTypeEnumInstance)
	other.Set(other.Rules[0], other.Both(1, 0))
	both := behind(swapped(f.Front), shared(other))
	s := f.next(t, "web-1")
	s.succeeds(t, asglane.OpBlueGreen, both)
	s.succeeds(t, asglane.OpBlueGreenSwap, moving(100, true))
	s = f.next(t, "web-2")
	s.succeeds(t, asglane.OpBlueGreen, both)
	if got := s.live(t, "web__2").TargetGroupARNs; !slices.Equal(got, []string{f.B, other.B}) {
		t.Errorf("the new group is attached to %v", got)
	}
	since := len(s.Calls())
	s.refused(t, "web__1 still has traffic by "+other.Rules[0], asglane.OpBlueGreenSwap, moving(100, true))
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("it was refused and changes %v", got)
	}
	s.succeeds(t, asglane.OpBlueGreenSwap, moving(100, false))
	if got := f.colour(t, "web__2"); f.Traffic(f.Rules[0]) != "b" || other.Traffic(other.Rules[0]) != "a 1, b 0" || !strings.HasPrefix(got, "GREEN") {
		t.Errorf("after the swap traffic goes to %s and %s, the new group is %s", f.Traffic(f.Rules[0]), other.Traffic(other.Rules[0]), got)
	}
	s.succeeds(t, asglane.OpShiftTraffic, moving(100, true))
	if got := f.colour(t, "web__2"); sorted(other.Traffic(other.Rules[0])) != "a 0, b 100" || !strings.HasPrefix(got, "BLUE") {
		t.Errorf("after the shift traffic goes to %s, the new group is %s", other.Traffic(other.Rules[0]), got)
	}
	s.becomes(t, "web__1", "version 1, 0 to 4, 0 desired: ")
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if f.Traffic(f.Rules[0]) != "a" || other.Traffic(other.Rules[0]) != "a 1, b 0" {
		t.Errorf("after the rollback traffic goes to %s and %s", f.Traffic(f.Rules[0]), other.Traffic(other.Rules[0]))
	}
}

// What can't be is refused before anything is changed.
func TestBlueGreenRefused(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.bluegreen(t, "web-1")
	f.bluegreen(t, "web-2") // behind b
	other := f.stage.Front("intern", elbtypes.TargetTypeEnumInstance)
	fixed := f.Rule(f.Listeners[0], []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: sdk.String("404")}}})
	split := f.Rule(f.Listeners[0], f.Both(60, 40))
	with := func(change func(*asglane.Balancer)) func(*asglane.Spec) {
		b := swapped(f.Front)
		change(&b)
		return behind(b)
	}
	s := f.next(t, "web-3")
	since := len(s.Calls())
	for message, change := range map[string]func(*asglane.Spec){
		"finish or reset the last shift first":         with(func(b *asglane.Balancer) { b.ProdRule, b.StageListener, b.StageRule = split, "", "" }),
		"forward to two target groups":                 with(func(b *asglane.Balancer) { b.StageListener, b.StageRule = "", "" }),
		"forwards to no target group":                  with(func(b *asglane.Balancer) { b.ProdRule = fixed }),
		"both forward to the target group":             with(func(b *asglane.Balancer) { b.StageListener, b.StageRule = b.ProdListener, b.ProdRule }),
		"two load balancers of the step have the rule": behind(swapped(f.Front), swapped(f.Front)),
		"the step has no load balancer":                behind(),
		"belongs to the load balancer":                 with(func(b *asglane.Balancer) { b.Name = other.Name }),
		"want 3 to 128 letters":                        func(s *asglane.Spec) { behind(swapped(f.Front))(s); s.Name = strings.Repeat("a", 126) },
		"can't be":                                     func(s *asglane.Spec) { behind(swapped(f.Front))(s); s.Size = &awslane.Size{Min: 2, Max: 1} },
	} {
		s.refused(t, message, asglane.OpBlueGreen, change)
	}
	s.refused(t, "no step AsgBlueGreenDeploy of this stage", asglane.OpBlueGreenSwap, moving(100, true))
	// Somebody has put the group for the new version where the traffic goes.
	attach := &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: sdk.String("web__1"), TargetGroupARNs: []string{f.B}}
	if _, err := s.groups().AttachLoadBalancerTargetGroups(t.Context(), attach); err != nil {
		t.Fatal(err)
	}
	mine := len(s.changes(since))
	s.refused(t, "has traffic by the target group "+f.B, asglane.OpBlueGreen, behind(swapped(f.Front)))
	if got := s.changes(since); len(got) > mine || mine != 1 {
		t.Errorf("what was refused changes %v", got)
	}

	// A stage has one way to move its traffic, and one group in two colours.
	detach := &autoscaling.DetachLoadBalancerTargetGroupsInput{AutoScalingGroupName: sdk.String("web__1"), TargetGroupARNs: []string{f.B}}
	if _, err := s.groups().DetachLoadBalancerTargetGroups(t.Context(), detach); err != nil {
		t.Fatal(err)
	}
	s = f.next(t, "web-4")
	s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)))
	since = len(s.Calls())
	s.refused(t, "want AsgBlueGreenSwapService", asglane.OpShiftTraffic, moving(100, true))
	s.refused(t, "one step AsgBlueGreenDeploy in a stage", asglane.OpBlueGreen, behind(swapped(f.Front)), func(s *asglane.Spec) { s.Name = "shop" })
	s.refused(t, "not supported for canary and blue/green", asglane.OpSteadyState)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("what was refused changes %v", got)
	}
}

// A group whose machines can't serve gets no traffic.
func TestBlueGreenThatDoesNotServe(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.bluegreen(t, "web-1")
	before := f.state(t)
	s := f.next(t, "noroom-2")
	r := s.expires(t, asglane.OpBlueGreen, behind(swapped(f.Front)))
	if !strings.Contains(r.Message, "0/2 instances are healthy") || f.Traffic(f.Rules[0]) != "a" {
		t.Errorf("it failed by %s, traffic goes to %s", r.Message, f.Traffic(f.Rules[0]))
	}
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if diff := cmp.Diff(before, f.state(t)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// Without target groups that tell it, the tag does; where traffic goes by nobody's
// group at all, the first one gets it.
func TestColourByTag(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.bluegreen(t, "web-1")
	live := f.stage.live(t, "web__1")
	detach := &autoscaling.DetachLoadBalancerTargetGroupsInput{AutoScalingGroupName: live.AutoScalingGroupName, TargetGroupARNs: live.TargetGroupARNs}
	if _, err := f.stage.groups().DetachLoadBalancerTargetGroups(t.Context(), detach); err != nil {
		t.Fatal(err)
	}
	s := f.next(t, "web-2")
	r := s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)))
	if output(t, r, "oldAsgName") != "web__1" || f.colour(t, "web__2") != "GREEN b" {
		t.Errorf("the outputs are %s", r.Outputs)
	}
}

// AWS refuses what a swap wants in the middle; the step fails with its reason, and the
// rollback gives the traffic back.
func TestSwapDeniedInTheMiddle(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	f.bluegreen(t, "web-1")
	before := f.state(t)
	s := f.next(t, "web-2")
	s.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)))
	s.Fail("elasticloadbalancing:ModifyRule", testaws.Fault{Code: "AccessDenied", Message: "not you", After: 1, Times: 1})
	r := s.refused(t, "elasticloadbalancing:ModifyRule", asglane.OpBlueGreenSwap, moving(100, true))
	if f.Traffic(f.Rules[0]) != "b" || f.Traffic(f.Rules[1]) != "b" || !slices.Equal(r.FailureTypes, []fault.FailureType{fault.Authorization}) {
		t.Errorf("half way it fails by %v, with traffic to %s and %s", r.FailureTypes, f.Traffic(f.Rules[0]), f.Traffic(f.Rules[1]))
	}
	s.succeeds(t, asglane.OpBlueGreenRollback)
	if diff := cmp.Diff(before, f.state(t)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

// Only the action that forwards is changed, and no secret is kept.
func TestALoginStays(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	login := elbtypes.Action{Type: elbtypes.ActionTypeEnumAuthenticateOidc, Order: sdk.Int32(1), AuthenticateOidcConfig: &elbtypes.AuthenticateOidcActionConfig{
		Issuer: sdk.String("https://id.example.com"), AuthorizationEndpoint: sdk.String("https://id.example.com/a"), TokenEndpoint: sdk.String("https://id.example.com/t"),
		UserInfoEndpoint: sdk.String("https://id.example.com/u"), ClientId: sdk.String("web"), ClientSecret: sdk.String("s3cret"),
	}}
	forward := testaws.To(f.A, 1)
	forward[0].Order = sdk.Int32(2)
	f.Set(f.Rules[0], append([]elbtypes.Action{login}, forward...))
	f.bluegreen(t, "web-1")
	since := len(f.stage.CallsOf("elasticloadbalancing:ModifyRule"))
	s := f.bluegreen(t, "web-2")
	var in elb.ModifyRuleInput
	s.CallsOf("elasticloadbalancing:ModifyRule")[since].Decode(t, &in)
	if len(in.Actions) != 2 || in.Actions[0].AuthenticateOidcConfig == nil || in.Actions[0].AuthenticateOidcConfig.ClientSecret != nil {
		t.Errorf("the rule gets %+v", in.Actions)
	}
	for _, kept := range s.env.Kept() {
		if strings.Contains(string(kept.Data), "s3cret") {
			t.Errorf("the checkpoint %s has the client secret", kept.Key)
		}
	}
}
