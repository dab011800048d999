package asg_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

const (
	policyCPU = `
PolicyName: cpu
PolicyType: TargetTrackingScaling
TargetTrackingConfiguration: {TargetValue: 60, PredefinedMetricSpecification: {PredefinedMetricType: ASGAverageCPUUtilization}}
`
	nights   = "ScheduledActionName: nights\nRecurrence: 0 20 * * *\nDesiredCapacity: 1\n"
	longAgo  = "ScheduledActionName: once\nStartTime: 2020-01-01T00:00:00Z\nDesiredCapacity: 1\n"
	measured = "metrics: {enableMetrices: true, metricsCollection: [{metric: GroupDesiredCapacity, granularity: 1Minute}]}\n"
)

// around gives a group all that can be around it.
func around(s *asglane.Spec) {
	s.Target.Policies = append(s.Target.Policies, *manifest("AsgScalingPolicy", policyCPU))
	s.Target.Schedules = append(s.Target.Schedules, *manifest("AsgScheduledUpdateGroupAction", nights))
	s.Target.Additional = manifest("AsgAdditionalConfiguration", measured)
	s.Target.Configuration.Store.Inline += "tags: [{key: team, value: shop, propagateAtLaunch: true}]\n"
}

// isAround is what is around a group, for people.
func (s *stage) isAround(t *testing.T, name string) string {
	t.Helper()
	var b strings.Builder
	live := s.live(t, name)
	if live == nil {
		return "gone"
	}
	for _, m := range live.EnabledMetrics {
		fmt.Fprint(&b, *m.Metric, " ")
	}
	var tags []string
	for _, tag := range live.Tags {
		if *tag.Key == "slipway:tags" { // which is TestTagsFollowTheConfiguration's
			continue
		}
		tags = append(tags, *tag.Key+"="+*tag.Value)
	}
	slices.Sort(tags)
	fmt.Fprint(&b, strings.Join(tags, " "), " ", live.TargetGroupARNs)
	policies, err := s.groups().DescribePolicies(t.Context(), &autoscaling.DescribePoliciesInput{AutoScalingGroupName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies.ScalingPolicies {
		fmt.Fprint(&b, " ", *p.PolicyName)
	}
	actions, err := s.groups().DescribeScheduledActions(t.Context(), &autoscaling.DescribeScheduledActionsInput{AutoScalingGroupName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range actions.ScheduledUpdateGroupActions {
		fmt.Fprint(&b, " ", *a.ScheduledActionName)
	}
	return b.String()
}

// Policies, schedules, metrics and tags become what the documents say, and what
// they were.
func TestAround(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling, around)
	const ours = "slipway:environment=dev slipway:execution=%s slipway:infrastructure=asg slipway:service=web"
	before := first.isAround(t, "web")
	if want := "GroupDesiredCapacity " + fmt.Sprintf(ours, "eweb-1") + " team=shop [] cpu nights"; before != want {
		t.Errorf("around the group is %s; want %s", before, want)
	}
	var in autoscaling.EnableMetricsCollectionInput
	first.CallsOf("autoscaling:EnableMetricsCollection")[0].Decode(t, &in)
	if *in.Granularity != "1Minute" || !slices.Equal(in.Metrics, []string{"GroupDesiredCapacity"}) {
		t.Errorf("collected are %v each %s", in.Metrics, *in.Granularity)
	}
	s := first.next(t, "web-2")
	s.succeeds(t, asglane.OpRolling, func(s *asglane.Spec) {
		s.Target.Policies = append(s.Target.Policies, *manifest("AsgScalingPolicy", strings.Replace(policyCPU, "cpu", "load", 1)))
		s.Target.Additional = manifest("AsgAdditionalConfiguration", "metrics: {enableMetrics: false}\n")
	})
	if got, want := s.isAround(t, "web"), fmt.Sprintf(ours, "eweb-2")+" [] load"; got != want {
		t.Errorf("after the update around the group is %s; want %s", got, want)
	}
	s.succeeds(t, asglane.OpRollingRollback)
	if got := s.isAround(t, "web"); got != before {
		t.Errorf("after the rollback around the group is %s; want %s", got, before)
	}
}

// A scheduled action whose time is over is left out with a warning; the others are
// there.
func TestScheduleOfThePast(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, asglane.OpRolling, func(s *asglane.Spec) {
		s.Target.Schedules = append(s.Target.Schedules, *manifest("AsgScheduledUpdateGroupAction", longAgo+"---\n"+nights))
	})
	if log := s.env.Text("Deploy", executor.Info); !strings.Contains(log, "Warning: scheduled action once is left out: its StartTime, 2020-01-01T00:00:00Z, is over") {
		t.Errorf("the log says:\n%s", log)
	}
	if got := s.isAround(t, "web"); !strings.HasSuffix(got, "[] nights") {
		t.Errorf("around the group is %s", got)
	}
}

// Another group stands for the documents that the service hasn't, and stays as it
// is.
func TestBase(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling, around, func(s *asglane.Spec) { s.Name = "golden" })
	before := first.runs(t, "golden") + first.isAround(t, "golden")
	s := first.next(t, "web-2")
	r := s.succeeds(t, asglane.OpRolling, func(s *asglane.Spec) {
		s.Target.Base, s.Target.Template, s.Target.Configuration = "golden", nil, nil
	})
	if got := output(t, r, "asgName"); got != "golden-slipway" {
		t.Errorf("the group is called %v", got)
	}
	if got := s.runs(t, "golden-slipway"); got != "version 1, 1 to 4, 2 desired: 1 1" {
		t.Errorf("the group is %s", got)
	}
	if got := s.isAround(t, "golden-slipway"); got != "slipway:environment=dev slipway:execution=eweb-2 slipway:infrastructure=asg slipway:service=web team=shop []" {
		t.Errorf("around the group is %s", got)
	}
	if after := s.runs(t, "golden") + s.isAround(t, "golden"); after != before {
		t.Errorf("the base is %s; want %s", after, before)
	}
	s.refused(t, "which is never changed", asglane.OpRolling, func(s *asglane.Spec) { s.Target.Base, s.Name = "golden", "golden" })
}

// count is how many machines a canary or a scaled group gets.
func count(n int) func(*asglane.Spec) {
	return func(s *asglane.Spec) { s.Selection = &awslane.Amount{Value: n} }
}

func percent(n int) func(*asglane.Spec) {
	return func(s *asglane.Spec) { s.Selection = &awslane.Amount{Value: n, Percent: true} }
}

// Canary: a group beside the one that serves, with a part of its machines, without
// what scales it.
func TestCanary(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	three := func(s *asglane.Spec) {
		s.Target.Configuration.Store.Inline = strings.Replace(s.Target.Configuration.Store.Inline, "desiredCapacity: 2", "desiredCapacity: 3", 1)
	}
	r := s.succeeds(t, asglane.OpCanary, around, three, percent(50))
	if got := s.runs(t, "web__Canary"); got != "version 1, 2 to 2, 2 desired: 1 1" {
		t.Errorf("the canary is %s", got)
	}
	if got := s.isAround(t, "web__Canary"); strings.Contains(got, "cpu") || strings.Contains(got, "nights") || strings.Contains(got, "Group") {
		t.Errorf("around the canary is %s", got)
	}
	if got := r.Changes[0].Instances; len(got) != 2 || !got[0].Canary {
		t.Errorf("instances %+v; want canaries", got)
	}
	// One that is left over is updated.
	later := s.next(t, "web-2")
	since := len(later.Calls())
	later.succeeds(t, asglane.OpCanary, count(1))
	if diff := cmp.Diff([]string{"CreateLaunchTemplateVersion", "UpdateAutoScalingGroup", "DeleteTags", "CreateOrUpdateTags", "StartInstanceRefresh"}, later.changes(since)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := later.runs(t, "web__Canary"); got != "version 2, 1 to 1, 1 desired: 2" {
		t.Errorf("the canary is %s", got)
	}
	r = later.succeeds(t, asglane.OpCanaryDelete)
	if got := later.runs(t, "web__Canary"); got != "gone" || r.Changes[0].Action != "deleted" {
		t.Errorf("after its deletion the canary is %s, and the ledger gets %+v", got, r.Changes)
	}
	fresh := later.next(t, "web-3")
	since = len(fresh.Calls())
	fresh.succeeds(t, asglane.OpCanaryDelete)
	if diff := cmp.Diff([]string{"DeleteLaunchTemplate"}, fresh.changes(since)); diff != "" {
		t.Errorf("deleting none (-want +got):\n%s", diff)
	}
}

// AsgScale: a count, or a percentage of what should be there, within the bounds.
func TestScale(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, asglane.OpRolling)
	for _, tt := range []struct {
		how  func(*asglane.Spec)
		want float64
	}{{count(3), 3}, {percent(50), 2}, {percent(50), 1}, {percent(100), 1}, {count(4), 4}} {
		r := s.succeeds(t, asglane.OpScale, tt.how)
		if live := s.live(t, "web"); float64(*live.DesiredCapacity) != tt.want || output(t, r, "desired") != tt.want {
			t.Errorf("scaled to %d; want %v", *live.DesiredCapacity, tt.want)
		}
	}
	s.refused(t, "Asg web can have 1 to 4 instances; want a number of these, not 5", asglane.OpScale, count(5))
	s.refused(t, "there is no Asg other", asglane.OpScale, count(1), func(s *asglane.Spec) { s.Name = "other" })
	var in autoscaling.SetDesiredCapacityInput
	s.CallsOf("autoscaling:SetDesiredCapacity")[0].Decode(t, &in)
	if sdk.ToBool(in.HonorCooldown) {
		t.Error("it waits for a cooldown")
	}
	s.Hold()
	s.succeeds(t, asglane.OpScale, count(1), func(s *asglane.Spec) { s.SkipSteady = true })
}

// Machines of several types start from the group's template, too.
func TestMixedInstances(t *testing.T) {
	t.Parallel()
	mixed := func(s *asglane.Spec) {
		s.Target.Configuration.Store.Inline += "mixedInstancesPolicy: {launchTemplate: {overrides: [{instanceType: t3.large}]}}\n"
	}
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling, mixed)
	s := first.next(t, "web-2")
	s.succeeds(t, asglane.OpRolling, mixed)
	var in autoscaling.StartInstanceRefreshInput
	s.CallsOf("autoscaling:StartInstanceRefresh")[0].Decode(t, &in)
	if p := in.DesiredConfiguration.MixedInstancesPolicy; p == nil || *p.LaunchTemplate.LaunchTemplateSpecification.Version != "2" || len(p.LaunchTemplate.Overrides) != 1 {
		t.Errorf("the refresh leads to %+v", in.DesiredConfiguration)
	}
}

// Target groups that the configuration names are those that the group is attached to,
// by each deployment, and after a rollback those of before.
func TestTargetGroups(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	f := first.Front("shop", elbtypes.TargetTypeEnumInstance)
	behind := func(groups ...string) func(*asglane.Spec) {
		return func(s *asglane.Spec) {
			s.Target.Configuration.Store.Inline += "targetGroupARNs: [" + strings.Join(groups, ", ") + "]\n"
		}
	}
	first.succeeds(t, asglane.OpRolling, behind(f.A))
	if healthy, _ := f.Targets(f.A); healthy != 2 {
		t.Errorf("the group has %d healthy targets in A", healthy)
	}
	s := first.next(t, "web-2")
	since := len(s.Calls())
	s.succeeds(t, asglane.OpRolling, behind(f.B))
	if got := s.changes(since); !slices.Contains(got, "AttachLoadBalancerTargetGroups") || !slices.Contains(got, "DetachLoadBalancerTargetGroups") {
		t.Errorf("the update changes %v", got)
	}
	if healthy, _ := f.Targets(f.B); healthy != 2 || !slices.Equal(s.live(t, "web").TargetGroupARNs, []string{f.B}) {
		t.Errorf("after the update it is attached to %v, with %d healthy targets in B", s.live(t, "web").TargetGroupARNs, healthy)
	}
	s.succeeds(t, asglane.OpRollingRollback)
	if healthy, _ := f.Targets(f.A); healthy != 2 || !slices.Equal(s.live(t, "web").TargetGroupARNs, []string{f.A}) {
		t.Errorf("after the rollback it is attached to %v, with %d healthy targets in A", s.live(t, "web").TargetGroupARNs, healthy)
	}
	more := s.next(t, "web-3")
	more.succeeds(t, asglane.OpRolling)
	if got := more.live(t, "web").TargetGroupARNs; len(got) != 0 {
		t.Errorf("without target groups in the configuration it is attached to %v", got)
	}
}

// A group of another region is scaled there, and tells the ledger nothing.
func TestScaleElsewhere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, asglane.OpRolling)
	r := s.succeeds(t, asglane.OpScale, count(3), func(s *asglane.Spec) { s.Name, s.Elsewhere = "web", true })
	if len(r.Changes) > 0 || output(t, r, "previousDesired") != 2.0 {
		t.Errorf("the ledger gets %v, the outputs are %s", r.Changes, r.Outputs)
	}
}
