package asg_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-cd/slipway/internal/testaws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/task"
)

// watch is what a watch of what was deployed reports first.
func (s *stage) watch(t *testing.T, deployed task.Change) task.Observed {
	t.Helper()
	place, err := json.Marshal(asglane.Place{AWS: account()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var got task.Observed
	err = s.kind.Watch(ctx, task.Watch{Kind: asglane.Kind, Place: place, Workloads: deployed.Workloads}, func(_ context.Context, o task.Observed) error {
		got = o
		stop()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the watch ended by %v", err)
	}
	return got
}

// What runs is seen, and what differs from what was deployed: a size that somebody
// has set, another version, a group that is gone, but no size where something scales.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	deployed := s.succeeds(t, asglane.OpRolling).Changes[0]
	o := s.watch(t, deployed)
	if len(o.Instances) != 2 || o.Instances[0].Images[0] != s.images["web-1"] || !o.Instances[0].Ready || o.Instances[0].Properties["launchTemplateVersion"] != "1" {
		t.Errorf("instances %+v", o.Instances)
	}
	if want := deployed.Workloads[0]; len(o.Workloads) != 1 || *o.Workloads[0].Replicas != *want.Replicas || !slices.Equal(o.Workloads[0].Images, want.Images) {
		t.Errorf("workloads %+v; want %+v", o.Workloads, deployed.Workloads)
	}
	// A machine that EC2 has lost is replaced by one of the same version.
	lost := o.Instances[0].Name
	if _, err := s.machines().TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{lost}}); err != nil {
		t.Fatal(err)
	}
	s.becomes(t, "web", "version 1, 1 to 4, 2 desired: 1 1")
	if o = s.watch(t, deployed); len(o.Instances) != 2 || slices.ContainsFunc(o.Instances, func(i task.Instance) bool { return i.Name == lost }) || o.Instances[1].Images[0] != s.images["web-1"] {
		t.Errorf("after a machine was lost, instances %+v", o.Instances)
	}
	s.imageOf(t, "web-2")
	template := s.live(t, "web").LaunchTemplate
	if _, err := s.machines().CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: template.LaunchTemplateId, LaunchTemplateData: requestOf(s.images["web-2"]),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.groups().UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: sdk.String("web"), DesiredCapacity: sdk.Int32(3),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: template.LaunchTemplateId, Version: sdk.String("2")},
	}); err != nil {
		t.Fatal(err)
	}
	if o = s.watch(t, deployed); *o.Workloads[0].Replicas != 3 || o.Workloads[0].Images[0] != s.images["web-2"] || !strings.HasSuffix(o.Workloads[0].Images[1], ":2") {
		t.Errorf("changed by hand, workloads %+v", o.Workloads)
	}
	scaled := s.next(t, "web-3")
	if o = s.watch(t, scaled.succeeds(t, asglane.OpRolling, around).Changes[0]); o.Workloads[0].Replicas != nil {
		t.Errorf("scaled by a policy, workloads %+v", o.Workloads)
	}
	if _, err := s.groups().DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: sdk.String("web"), ForceDelete: sdk.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	if o = s.watch(t, deployed); !o.Workloads[0].Gone || len(o.Instances) != 0 {
		t.Errorf("of a group that is gone is seen %+v", o)
	}
	s.Fail("autoscaling:DescribeAutoScalingGroups", testaws.Fault{Code: "AccessDenied", Times: 1})
	if o = s.watch(t, deployed); !strings.Contains(o.Trouble, "AccessDenied") {
		t.Errorf("of what is denied is seen %+v", o)
	}
}
