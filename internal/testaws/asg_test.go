package testaws_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// groups is the Auto Scaling of a world whose time is held.
type groups struct {
	*autoscaling.Client
	world  *testaws.World
	images map[string]string // by their names
}

// newGroups makes images of the names, and the launch template "web", whose
// versions have them in this order.
func newGroups(t *testing.T, images ...string) groups {
	t.Helper()
	w := testaws.NewWorld(t)
	w.Hold()
	g := groups{
		Client: autoscaling.NewFromConfig(w.Config(), func(o *autoscaling.Options) { o.RetryMaxAttempts = 1 }), world: w,
		images: map[string]string{},
	}
	instance := g.ec2(t, "RunInstances", "ImageId", "ami-12c6146b", "MinCount", "1", "MaxCount", "1").Instance
	for i, name := range images {
		g.images[name] = g.ec2(t, "CreateImage", "InstanceId", instance, "Name", name).Image
		action := "CreateLaunchTemplateVersion"
		if i == 0 {
			action = "CreateLaunchTemplate"
		}
		g.ec2(t, action, "LaunchTemplateName", "web", "LaunchTemplateData.ImageId", g.images[name], "LaunchTemplateData.InstanceType", "t3.micro")
	}
	return g
}

// made is what the calls of EC2 that the tests need answer.
type made struct {
	Instance string `xml:"instancesSet>item>instanceId"`
	Image    string `xml:"imageId"`
	Version  int    `xml:"launchTemplateVersion>versionNumber"`
}

// ec2 calls an action of EC2 with parameters by names and values. Its client
// is the largest of all, and takes a minute to build.
func (g groups) ec2(t *testing.T, action string, parameters ...string) (answer made) {
	t.Helper()
	form := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	for pair := range slices.Chunk(parameters, 2) {
		form.Set(pair[0], pair[1])
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.world.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261123/"+testaws.Region+"/ec2/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", action, resp.Status, err, doc)
	}
	if err := xml.Unmarshal(doc, &answer); err != nil {
		t.Fatalf("%s: %v: %s", action, err, doc)
	}
	return answer
}

// create makes a group of two with a version of the template.
func (g groups) create(t *testing.T, name, version string) error {
	t.Helper()
	_, err := g.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: aws.Int32(1), MaxSize: aws.Int32(4), DesiredCapacity: aws.Int32(2),
		VPCZoneIdentifier: aws.String(g.world.Network().Subnets[0]),
		LaunchTemplate:    &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("web"), Version: &version},
	})
	return err
}

// look is the group's template version, its instances, and how its newest
// refresh goes.
func (g groups) look(t *testing.T) string {
	t.Helper()
	out, err := g.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.AutoScalingGroups) == 0 {
		return "gone"
	}
	group := out.AutoScalingGroups[0]
	text := []string{}
	for _, i := range group.Instances {
		text = append(text, fmt.Sprintf("%s %s", i.LifecycleState, aws.ToString(i.LaunchTemplate.Version)))
	}
	slices.Sort(text)
	text = append([]string{"version " + aws.ToString(group.LaunchTemplate.Version)}, text...)
	refreshes, err := g.DescribeInstanceRefreshes(t.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: aws.String("web")})
	if err != nil {
		t.Fatal(err)
	}
	if len(refreshes.InstanceRefreshes) > 0 {
		r := refreshes.InstanceRefreshes[0]
		text = append(text, fmt.Sprintf("%s %d%%", r.Status, aws.ToInt32(r.PercentageComplete)))
	}
	return strings.Join(text, ", ")
}

// refresh starts an instance refresh to a version of the template.
func (g groups) refresh(t *testing.T, version string) error {
	t.Helper()
	_, err := g.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{
		AutoScalingGroupName: aws.String("web"),
		DesiredConfiguration: &types.DesiredConfiguration{
			LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("web"), Version: &version},
		},
		Preferences: &types.RefreshPreferences{MinHealthyPercentage: aws.Int32(50), SkipMatching: aws.Bool(true)},
	})
	return err
}

// Instances come in time, go when they are too many, and all with their group.
func TestAutoScalingGroup(t *testing.T) {
	t.Parallel()
	g := newGroups(t, "good")
	wantCode(t, "create", g.create(t, "web", "1"), "")
	wantCode(t, "create again", g.create(t, "web", "1"), "AlreadyExists")
	var got []string
	look := func(pass time.Duration) {
		g.world.Pass(pass)
		got = append(got, g.look(t))
	}
	look(3 * time.Second)
	look(10 * time.Second)
	set := func(n int32) error {
		_, err := g.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("web"), DesiredCapacity: &n})
		return err
	}
	wantCode(t, "too many", set(9), "ValidationError")
	wantCode(t, "one", set(1), "")
	look(time.Minute)
	remove := func(force bool) error {
		_, err := g.DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("web"), ForceDelete: &force})
		return err
	}
	activities, err := g.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("web")})
	if err != nil || len(activities.Activities) != 3 || !strings.HasPrefix(*activities.Activities[0].Description, "Terminating") {
		t.Errorf("activities: %+v, %v", activities, err)
	}
	wantCode(t, "delete", remove(false), "ResourceInUse")
	wantCode(t, "delete by force", remove(true), "")
	look(2 * time.Second)
	look(time.Minute)
	want := []string{
		"version 1, Pending 1, Pending 1", "version 1, InService 1, InService 1", "version 1, InService 1", "version 1, Terminating 1", "gone",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the group (-want +got):\n%s", d)
	}
}

// A refresh replaces one instance after the other; the group gets its version
// when it has succeeded.
func TestInstanceRefresh(t *testing.T) {
	t.Parallel()
	const before = "version 1, InService 1, InService 1, "
	tests := []struct {
		name, version string
		act           func(*testing.T, groups) error // while it is in progress
		want          string
	}{
		{name: "succeeds", version: "2", want: "version 2, InService 2, InService 2, Successful 100%"},
		{name: "the same version", version: "1", want: before + "Successful 100%"},
		{name: "fails", version: "3", want: before + "Failed 50%"},
		{name: "is rolled back", version: "2", want: before + "RollbackSuccessful 100%", act: func(t *testing.T, g groups) error {
			t.Helper()
			_, err := g.RollbackInstanceRefresh(t.Context(), &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("web")})
			return err
		}},
		{name: "is cancelled", version: "2", want: "version 1, InService 1, InService 1, Cancelled 0%", act: func(t *testing.T, g groups) error {
			t.Helper()
			_, err := g.CancelInstanceRefresh(t.Context(), &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String("web")})
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGroups(t, "good", "better", "crash")
			wantCode(t, "create", g.create(t, "web", "1"), "")
			g.world.Pass(time.Minute)
			wantCode(t, "start", g.refresh(t, tt.version), "")
			wantCode(t, "start another", g.refresh(t, "2"), "InstanceRefreshInProgress")
			g.world.Pass(4 * time.Second)
			if tt.act != nil {
				wantCode(t, tt.name, tt.act(t, g), "")
			}
			g.world.Pass(5 * time.Minute)
			got := g.look(t)
			if tt.name == "is cancelled" { // one of them has been replaced, or not
				got = strings.ReplaceAll(got, "InService 2", "InService 1")
			}
			if got != tt.want {
				t.Errorf("then %s, want %s", got, tt.want)
			}
			_, err := g.CancelInstanceRefresh(t.Context(), &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String("web")})
			wantCode(t, "cancel what has ended", err, "ActiveInstanceRefreshNotFound")
		})
	}
	t.Run("can't be rolled back", func(t *testing.T) {
		t.Parallel()
		g := newGroups(t, "good", "better")
		wantCode(t, "create", g.create(t, "web", "$Latest"), "")
		g.world.Pass(time.Minute)
		wantCode(t, "start", g.refresh(t, "1"), "")
		_, err := g.RollbackInstanceRefresh(t.Context(), &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("web")})
		wantCode(t, "roll back", err, "IrreversibleInstanceRefresh")
	})
}

// Instances are targets of the groups that are attached, from when they serve
// until they are detached.
func TestAutoScalingTargets(t *testing.T) {
	t.Parallel()
	g := newGroups(t, "good")
	b := newBalancer(t, cluster{world: g.world})
	machines, err := b.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
		Name: aws.String("machines"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: aws.String(g.world.Network().VPC),
	})
	if err != nil {
		t.Fatal(err)
	}
	arn := *machines.TargetGroups[0].TargetGroupArn
	if _, err := b.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: &b.rule, Actions: forward(arn)}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "create", g.create(t, "web", "1"), "")
	_, err = g.AttachLoadBalancerTargetGroups(t.Context(), &autoscaling.AttachLoadBalancerTargetGroupsInput{
		AutoScalingGroupName: aws.String("web"), TargetGroupARNs: []string{arn},
	})
	wantCode(t, "attach while nothing is registered", err, "")
	got := []string{b.health(t, arn)}
	g.world.Pass(12 * time.Second)
	got = append(got, b.health(t, arn))
	g.world.Pass(time.Minute)
	got = append(got, b.health(t, arn))
	for range 2 {
		_, err = g.DetachLoadBalancerTargetGroups(t.Context(), &autoscaling.DetachLoadBalancerTargetGroupsInput{
			AutoScalingGroupName: aws.String("web"), TargetGroupARNs: []string{arn},
		})
		wantCode(t, "detach", err, "")
	}
	got = append(got, b.health(t, arn))
	if d := cmp.Diff([]string{"", "initial initial", "healthy healthy", "draining draining"}, got); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
}

// An image without room gives failed activities.
func TestNoRoomForInstances(t *testing.T) {
	t.Parallel()
	g := newGroups(t, "noroom")
	wantCode(t, "create", g.create(t, "web", "1"), "")
	g.world.Pass(time.Minute)
	if got := g.look(t); got != "version 1" {
		t.Errorf("the group: %s, want no instances", got)
	}
	out, err := g.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("web")})
	if err != nil || len(out.Activities) == 0 || out.Activities[0].StatusCode != types.ScalingActivityStatusCodeFailed {
		t.Errorf("activities: %+v, %v", out, err)
	}
}

// Policies and scheduled actions belong to their group, metrics can be
// switched off, and a client token makes one version of a template.
func TestAutoScalingSettings(t *testing.T) {
	t.Parallel()
	g := newGroups(t, "good")
	for _, name := range []string{"web", "other"} {
		wantCode(t, "create", g.create(t, name, "1"), "")
		_, err := g.PutScalingPolicy(t.Context(), &autoscaling.PutScalingPolicyInput{
			AutoScalingGroupName: &name, PolicyName: aws.String("cpu"), PolicyType: aws.String("TargetTrackingScaling"),
			TargetTrackingConfiguration: &types.TargetTrackingConfiguration{
				TargetValue: aws.Float64(50), PredefinedMetricSpecification: &types.PredefinedMetricSpecification{PredefinedMetricType: types.MetricTypeASGAverageCPUUtilization},
			},
		})
		wantCode(t, "a policy", err, "")
		_, err = g.PutScheduledUpdateGroupAction(t.Context(), &autoscaling.PutScheduledUpdateGroupActionInput{
			AutoScalingGroupName: &name, ScheduledActionName: aws.String("night"), Recurrence: aws.String("0 1 * * *"), MinSize: aws.Int32(0),
		})
		wantCode(t, "a scheduled action", err, "")
	}
	_, err := g.DeletePolicy(t.Context(), &autoscaling.DeletePolicyInput{AutoScalingGroupName: aws.String("other"), PolicyName: aws.String("cpu")})
	wantCode(t, "delete a policy", err, "")
	_, err = g.DeleteScheduledAction(t.Context(), &autoscaling.DeleteScheduledActionInput{
		AutoScalingGroupName: aws.String("other"), ScheduledActionName: aws.String("night"),
	})
	wantCode(t, "delete a scheduled action", err, "")
	policies, err := g.DescribePolicies(t.Context(), &autoscaling.DescribePoliciesInput{})
	if err != nil || len(policies.ScalingPolicies) != 1 || *policies.ScalingPolicies[0].AutoScalingGroupName != "web" {
		t.Errorf("policies: %+v, %v", policies, err)
	}
	actions, err := g.DescribeScheduledActions(t.Context(), &autoscaling.DescribeScheduledActionsInput{})
	if err != nil || len(actions.ScheduledUpdateGroupActions) != 1 || *actions.ScheduledUpdateGroupActions[0].AutoScalingGroupName != "web" {
		t.Errorf("scheduled actions: %+v, %v", actions, err)
	}
	_, err = g.PutScheduledUpdateGroupAction(t.Context(), &autoscaling.PutScheduledUpdateGroupActionInput{
		AutoScalingGroupName: aws.String("web"), ScheduledActionName: aws.String("old"), MinSize: aws.Int32(0),
		StartTime: aws.Time(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)),
	})
	wantCode(t, "an action in the past", err, "ValidationError")
	_, err = g.EnableMetricsCollection(t.Context(), &autoscaling.EnableMetricsCollectionInput{
		AutoScalingGroupName: aws.String("web"), Granularity: aws.String("1Minute"), Metrics: []string{"GroupMinSize", "GroupMaxSize"},
	})
	wantCode(t, "metrics", err, "")
	_, err = g.DisableMetricsCollection(t.Context(), &autoscaling.DisableMetricsCollectionInput{
		AutoScalingGroupName: aws.String("web"), Metrics: []string{"GroupMinSize"},
	})
	wantCode(t, "no metrics", err, "")
	out, err := g.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"web"}})
	if err != nil || len(out.AutoScalingGroups[0].EnabledMetrics) != 1 {
		t.Errorf("metrics: %+v, %v", out, err)
	}
	version := func() int {
		return g.ec2(t, "CreateLaunchTemplateVersion", "LaunchTemplateName", "web", "LaunchTemplateData.ImageId", g.images["good"], "ClientToken", "once").Version
	}
	if first, again := version(), version(); first != 2 || again != 2 {
		t.Errorf("a token makes the versions %d and %d, want 2 twice", first, again)
	}
}
