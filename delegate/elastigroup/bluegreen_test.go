package elastigroup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithymiddleware "github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

const stageGroup = "web__STAGE__Elastigroup"

// fronted is a stage whose groups are behind a load balancer: by a rule of each of
// its listeners, and by one that shares the traffic.
type fronted struct {
	*stage
	world *testaws.World
	*testaws.Front
	shared string
}

func newFronted(t *testing.T) *fronted {
	t.Helper()
	w := testaws.NewWorld(t)
	f := &fronted{stage: newStage(t), world: w, Front: w.Front("shop", elbtypes.TargetTypeEnumInstance)}
	f.shared = f.Rule(f.Listeners[0], f.Both(100, 0))
	w.UnderPolicy("../../docs/elastigroup.md", "elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup",
		"elasticloadbalancing:CreateListener", "elasticloadbalancing:CreateRule", "ec2:CreateVpc", "ec2:CreateSubnet")
	f.kind = f.through(nil)
	return f
}

// through is a delegate that may be killed.
func (f *fronted) through(k *testaws.Killer) executor.Kind {
	via, options := f.via(), []func(*config.LoadOptions) error{config.WithBaseEndpoint(f.world.Endpoint)}
	if k != nil {
		via = k.Via(via, operation)
		options = append(options, config.WithAPIOptions([]func(*smithymiddleware.Stack) error{k.Add}))
	}
	return with(via, options...)
}

func (f *fronted) next(t *testing.T, image string) *fronted {
	t.Helper()
	other := *f
	other.stage = f.stage.next(t, image)
	return &other
}

func aws() *task.AWS {
	return &task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: testaws.Region}
}

// swaps says that the two listeners' rules exchange the traffic.
func (f *fronted) swaps(s *spot.Spec) {
	s.AWS = aws()
	if s.Op == spot.OpStageSetup {
		s.Name, s.Size = "web", &awslane.Size{Min: 1, Max: 4, Desired: 2}
		s.Target.Configuration = document("configuration", configuration)
		s.Balancers = []spot.Balancer{{LoadBalancer: f.Name, ProdPort: "80", ProdRule: f.Rules[0], StagePort: "81", StageRule: f.Rules[1]}}
	}
}

// shares says that one rule shares it.
func (f *fronted) shares(s *spot.Spec) {
	f.swaps(s)
	if s.Op == spot.OpStageSetup {
		s.Balancers = []spot.Balancer{{LoadBalancer: f.Balancer, ProdPort: "80", ProdRule: f.shared, StageTargetGroup: f.B, Shift: true}}
	}
}

func weight(n int) func(*spot.Spec) {
	return func(s *spot.Spec) { s.Shift = &awslane.Shift{Percentage: &n} }
}

// state is all that a stage may change, for people.
func (f *fronted) state() string {
	var b strings.Builder
	for _, g := range f.Groups() {
		fmt.Fprintln(&b, g)
	}
	fmt.Fprintln(&b, "traffic", f.Traffic(f.Rules[0]), "stage", f.Traffic(f.Rules[1]), "shared", f.Traffic(f.shared))
	return b.String()
}

func (f *fronted) is(t *testing.T, traffic string, groups ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(append(groups, traffic), "\n")+"\n", f.state()); diff != "" {
		t.Errorf("the state (-want +got):\n%s\n%s", diff, f.log())
	}
}

// A swap moves the traffic and exchanges the names; the next one does so again, and
// a rollback takes it back: machines first.
func TestSwap(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	r := f.succeeds(t, spot.OpStageSetup, f.swaps)
	f.is(t, "traffic a stage b shared a 100, b 0", stageGroup+": 1 to 4, 2 desired of ami-1, 2 there")
	if name := output(t, r, "newElastigroupName"); name != stageGroup {
		t.Errorf("the new group is %v", name)
	}
	if launch := f.Group(stageGroup)["compute"].(map[string]any)["launchSpecification"].(map[string]any); !strings.Contains(fmt.Sprint(launch["loadBalancersConfig"]), "arn:"+f.B+" name:shop-b type:TARGET_GROUP") {
		t.Errorf("it is behind %v", launch["loadBalancersConfig"])
	}
	f.succeeds(t, spot.OpSwapRoute, f.swaps)
	f.is(t, "traffic b stage a shared a 100, b 0", "web: 1 to 4, 2 desired of ami-1, 2 there")

	next := f.next(t, "ami-2")
	next.succeeds(t, spot.OpStageSetup, f.swaps)
	next.succeeds(t, spot.OpSwapRoute, f.swaps, func(s *spot.Spec) { s.Downsize = true })
	next.is(t, "traffic a stage b shared a 100, b 0", stageGroup+": 0 to 4, 0 desired of ami-1, 0 there", "web: 1 to 4, 2 desired of ami-2, 2 there")

	before := len(f.Calls())
	next.succeeds(t, spot.OpRollback, f.swaps)
	next.is(t, "traffic b stage a shared a 100, b 0", "web: 1 to 4, 2 desired of ami-1, 2 there")
	if changes := f.Changes(before); len(changes) != 3 || !strings.HasPrefix(changes[0], "PUT") || !strings.HasPrefix(changes[2], "DELETE") {
		t.Errorf("the rollback did %v", changes)
	}
	before = len(f.Calls())
	if next.succeeds(t, spot.OpRollback, f.swaps); len(f.Changes(before)) > 0 {
		t.Errorf("a second rollback did %v", f.Changes(before))
	}

	third := f.next(t, "ami-3")
	third.succeeds(t, spot.OpStageSetup, f.swaps)
	third.succeeds(t, spot.OpSwapRoute, f.swaps)
	fourth := f.next(t, "ami-4")
	fourth.succeeds(t, spot.OpStageSetup, f.swaps)
	fourth.is(t, "traffic a stage b shared a 100, b 0", "web: 1 to 4, 2 desired of ami-3, 2 there", stageGroup+": 1 to 4, 2 desired of ami-4, 2 there")
}

// Traffic is shared by weights; all of it exchanges the names.
func TestShift(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	f.succeeds(t, spot.OpStageSetup, f.shares)
	f.succeeds(t, spot.OpTrafficShift, f.shares, weight(30))
	f.is(t, "traffic a stage b shared a 70, b 30", stageGroup+": 1 to 4, 2 desired of ami-1, 2 there")
	r := f.succeeds(t, spot.OpTrafficShift, f.shares, weight(100))
	f.is(t, "traffic a stage b shared a 0, b 100", "web: 1 to 4, 2 desired of ami-1, 2 there")
	if weights := output(t, r, "weights").(map[string]any); weights[f.B] != 100.0 || weights[f.A] != 0.0 {
		t.Errorf("the weights are %v", weights)
	}

	f.next(t, "ami-2").refused(t, "is behind the target group "+f.B+", which is the stage's; want "+f.A+" there", fault.ConfigurationFailure, spot.OpStageSetup, f.shares)
	back := func(s *spot.Spec) {
		f.shares(s)
		if len(s.Balancers) > 0 {
			s.Balancers[0].StageTargetGroup = f.A
		}
	}
	next := f.next(t, "ami-2")
	next.succeeds(t, spot.OpStageSetup, back)
	next.succeeds(t, spot.OpTrafficShift, back, weight(50))
	f.next(t, "ami-3").refused(t, "has traffic by the target group "+f.A+"; it isn't deleted to make room", fault.ConfigurationFailure, spot.OpStageSetup, back)
	next.succeeds(t, spot.OpTrafficShift, back, weight(100))
	next.is(t, "traffic a stage b shared a 100, b 0", stageGroup+": 1 to 4, 2 desired of ami-1, 2 there", "web: 1 to 4, 2 desired of ami-2, 2 there")
	next.succeeds(t, spot.OpRollback, back)
	next.is(t, "traffic a stage b shared a 0, b 100", "web: 1 to 4, 2 desired of ami-1, 2 there")
}

// A rule of its own is changed by itself, and is what it was after a rollback.
func TestShiftOfAnotherRule(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	alone := func(rule string, forward ...awslane.Forward) func(*spot.Spec) {
		return func(s *spot.Spec) {
			s.AWS = aws()
			s.Shift = &awslane.Shift{LoadBalancer: f.Name, Listener: f.Listeners[0], Rule: rule, Forward: forward}
		}
	}
	f.succeeds(t, spot.OpStageSetup, f.shares)
	f.succeeds(t, spot.OpShiftRollback, f.shares) // nothing is shifted yet
	f.refused(t, "is the rule of the stage's ElastigroupBGStageSetup; want another one, or the type Inherit", fault.ConfigurationFailure,
		spot.OpTrafficShift, alone(f.shared, awslane.Forward{TargetGroup: f.B}))
	f.refused(t, "all weights are 0", fault.ConfigurationFailure, spot.OpTrafficShift, alone(f.Rules[0], awslane.Forward{TargetGroup: f.A}, awslane.Forward{TargetGroup: f.B}))
	f.succeeds(t, spot.OpTrafficShift, alone(f.Rules[0], awslane.Forward{TargetGroup: f.A, Weight: 1}, awslane.Forward{TargetGroup: f.B, Weight: 3}))
	f.succeeds(t, spot.OpTrafficShift, alone(f.Rules[0], awslane.Forward{TargetGroup: f.B}))
	f.is(t, "traffic b stage b shared a 100, b 0", stageGroup+": 1 to 4, 2 desired of ami-1, 2 there")
	for range 2 {
		f.succeeds(t, spot.OpShiftRollback, f.shares)
		f.is(t, "traffic a stage b shared a 100, b 0", stageGroup+": 1 to 4, 2 desired of ami-1, 2 there")
	}
	f.succeeds(t, spot.OpRollback, f.shares)
	f.is(t, "traffic a stage b shared a 100, b 0")
}

// A stage has both ways, each load balancer by its own: the swap leaves the shared rule
// to the shift, and a rollback takes back both.
func TestSwapAndShift(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	both := func(s *spot.Spec) {
		f.shares(s)
		second := s.Balancers
		f.swaps(s)
		s.Balancers = append(s.Balancers, second...)
	}
	f.succeeds(t, spot.OpStageSetup, both)
	f.succeeds(t, spot.OpSwapRoute, both)
	f.is(t, "traffic b stage a shared a 100, b 0", "web: 1 to 4, 2 desired of ami-1, 2 there")
	f.succeeds(t, spot.OpTrafficShift, both, weight(60))
	f.is(t, "traffic b stage a shared a 40, b 60", "web: 1 to 4, 2 desired of ami-1, 2 there")
	f.succeeds(t, spot.OpTrafficShift, both, weight(100))
	f.is(t, "traffic b stage a shared a 0, b 100", "web: 1 to 4, 2 desired of ami-1, 2 there")
	f.succeeds(t, spot.OpRollback, both)
	f.is(t, "traffic a stage b shared a 100, b 0")
}

func TestColoursAreRefused(t *testing.T) {
	t.Parallel()
	f := newFronted(t)
	change := func(by func(b *spot.Balancer)) func(*spot.Spec) {
		return func(s *spot.Spec) { f.swaps(s); by(&s.Balancers[0]) }
	}
	for name, tt := range map[string]struct {
		op      spot.Op
		change  func(*spot.Spec)
		message string
	}{
		"no such port":          {spot.OpStageSetup, change(func(b *spot.Balancer) { b.ProdPort = "8080" }), "has no listener at port 8080; it has some at 80, 81"},
		"one rule for both":     {spot.OpStageSetup, change(func(b *spot.Balancer) { b.StagePort, b.StageRule = "80", f.Rules[0] }), "want two rules with a target group each"},
		"a rule of another one": {spot.OpStageSetup, change(func(b *spot.Balancer) { b.ProdRule = f.Rules[1] }), "belongs to the listener"},
		"not of the rule":       {spot.OpStageSetup, change(func(b *spot.Balancer) { b.Shift, b.StageTargetGroup = true, f.B }), "to shift traffic it has to forward to two target groups"},
		"nothing to swap":       {spot.OpSwapRoute, f.swaps, "no step ElastigroupBGStageSetup of this stage has made an Elastigroup"},
		"nothing to shift":      {spot.OpTrafficShift, func(s *spot.Spec) { f.swaps(s); weight(10)(s) }, "no step ElastigroupBGStageSetup of this stage has made an Elastigroup"},
	} {
		f.next(t, "ami-1").refused(t, tt.message, fault.ConfigurationFailure, tt.op, tt.change)
		if len(f.Groups()) > 0 {
			t.Fatalf("%s: there are %v", name, f.Groups())
		}
	}
	s := f.next(t, "ami-1")
	s.succeeds(t, spot.OpStageSetup, f.swaps)
	s.refused(t, "no load balancer of the stage's ElastigroupBGStageSetup has isTrafficShift: true", fault.ConfigurationFailure, spot.OpTrafficShift, f.swaps, weight(10))
	s.succeeds(t, spot.OpRollback, f.swaps)
	s = f.next(t, "ami-1")
	s.succeeds(t, spot.OpStageSetup, f.shares)
	s.refused(t, "have isTrafficShift: true; want ElastigroupBlueGreenTrafficShift", fault.ConfigurationFailure, spot.OpSwapRoute, f.shares)
}

// Killed before and after every call that changes something, at Spot or at AWS, a
// step that is tried again comes to the same end, and a rollback to what was there.
func TestColoursKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		op    spot.Op
		ready bool // the setup is done
		how   func(f *fronted) []func(*spot.Spec)
	}{
		"setup": {spot.OpStageSetup, false, func(f *fronted) []func(*spot.Spec) { return []func(*spot.Spec){f.swaps} }},
		"swap": {spot.OpSwapRoute, true, func(f *fronted) []func(*spot.Spec) {
			return []func(*spot.Spec){f.swaps, func(s *spot.Spec) { s.Downsize = true }}
		}},
		"all": {spot.OpTrafficShift, true, func(f *fronted) []func(*spot.Spec) {
			return []func(*spot.Spec){f.shares, weight(100)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := newFronted(t)
			how := tt.how(served)
			for n := 1; ; n++ { // one world for all: a rollback ends each
				calls := 0
				for _, early := range []bool{true, false} {
					serving := served.next(t, "ami-1")
					serving.succeeds(t, spot.OpStageSetup, served.swaps)
					serving.succeeds(t, spot.OpSwapRoute, served.swaps)
					if tt.op == spot.OpTrafficShift { // what serves is behind b
						served.Set(served.shared, served.Both(0, 100))
						how = []func(*spot.Spec){func(s *spot.Spec) {
							served.shares(s)
							if len(s.Balancers) > 0 {
								s.Balancers[0].StageTargetGroup = served.A
							}
						}, weight(100)}
					}
					before := served.state()
					s := served.next(t, "ami-2")
					if tt.ready {
						s.succeeds(t, spot.OpStageSetup, how[:1]...)
					}
					k := &testaws.Killer{At: n, Before: early}
					r, err := s.through(k).Do(k.Living(t.Context()), s.assignment(t, tt.op, how...), s.env.Env)
					calls = len(k.Calls)
					if err == nil && r.Status != task.Succeeded {
						t.Fatalf("%d: %s: %s", n, r.Status, r.Message)
					}
					after := served.next(t, "ami-2")
					after.env = s.env
					after.succeeds(t, tt.op, how...)
					done := served.state()
					if tt.op != spot.OpStageSetup && !strings.Contains(done, "web: 1 to 4, 2 desired of ami-2, 2 there") {
						t.Errorf("killed at %d %v early %t, tried again: %s", n, k.Calls, early, done)
					}
					after.succeeds(t, spot.OpRollback, how[0])
					if diff := cmp.Diff(before, served.state()); diff != "" {
						t.Errorf("killed at %d %v early %t, taken back (-want +got):\n%s", n, k.Calls, early, diff)
					}
					serving.succeeds(t, spot.OpRollback, served.swaps)
				}
				if calls < n {
					if n == 1 {
						t.Errorf("only %d calls changed something", calls)
					}
					return
				}
			}
		})
	}
}
