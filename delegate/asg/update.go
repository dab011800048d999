package asg

import (
	"reflect"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// updateOf is how a group is, as the update that would make it so again.
func updateOf(one *types.AutoScalingGroup) (*autoscaling.UpdateAutoScalingGroupInput, error) {
	in, err := as[autoscaling.UpdateAutoScalingGroupInput](one)
	if err != nil {
		return nil, err
	}
	in.AvailabilityZoneIds = nil // of the zones, or of the subnets
	if sdk.ToString(in.VPCZoneIdentifier) != "" {
		in.AvailabilityZones = nil
	}
	if p := in.MixedInstancesPolicy; p != nil {
		in.LaunchTemplate = nil // it has one
		if p.LaunchTemplate != nil {
			byID(p.LaunchTemplate.LaunchTemplateSpecification)
			for _, o := range p.LaunchTemplate.Overrides {
				byID(o.LaunchTemplateSpecification)
			}
		}
	}
	byID(in.LaunchTemplate)
	return in, nil
}

// byID leaves a launch template its id, for calls take no name beside it.
func byID(t *types.LaunchTemplateSpecification) {
	if t != nil && t.LaunchTemplateId != nil {
		t.LaunchTemplateName = nil
	}
}

// wantedUpdate is what of a group's configuration an update can change. From which
// template it starts machines is left to the refresh, unless nobody uses the group.
func wantedUpdate(w *wanted, v version) (*autoscaling.UpdateAutoScalingGroupInput, error) {
	in, err := as[autoscaling.UpdateAutoScalingGroupInput](w.create)
	if err != nil {
		return nil, err
	}
	in.LaunchTemplate, in.LaunchConfigurationName, in.MixedInstancesPolicy = nil, nil, nil
	if w.unused {
		starts := desired(w.create.MixedInstancesPolicy, v)
		in.LaunchTemplate, in.MixedInstancesPolicy = starts.LaunchTemplate, starts.MixedInstancesPolicy
	}
	return in, nil
}

// difference is what of an update differs from how a group is; false: nothing
// does. What an update doesn't say stays.
func difference(wanted, now *autoscaling.UpdateAutoScalingGroupInput) (*autoscaling.UpdateAutoScalingGroupInput, bool) {
	out, differs := *wanted, false
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(now).Elem()
	for i := range to.NumField() {
		f := to.Type().Field(i)
		if !f.IsExported() || f.Name == "AutoScalingGroupName" {
			continue
		}
		if same(to.Field(i).Interface(), from.Field(i).Interface()) {
			to.Field(i).SetZero()
			continue
		}
		differs = differs || !to.Field(i).IsZero()
	}
	return &out, differs
}

// cleared is an update that also takes back what it would leave as it is now,
// because it wasn't set before.
func cleared(was, now *autoscaling.UpdateAutoScalingGroupInput) *autoscaling.UpdateAutoScalingGroupInput {
	out := *was
	if out.MaxInstanceLifetime == nil && now.MaxInstanceLifetime != nil {
		out.MaxInstanceLifetime = sdk.Int32(0)
	}
	if out.PlacementGroup == nil && now.PlacementGroup != nil {
		out.PlacementGroup = sdk.String("")
	}
	if out.DefaultInstanceWarmup == nil && now.DefaultInstanceWarmup != nil {
		out.DefaultInstanceWarmup = sdk.Int32(-1)
	}
	if out.InstanceMaintenancePolicy == nil && now.InstanceMaintenancePolicy != nil {
		out.InstanceMaintenancePolicy = &types.InstanceMaintenancePolicy{MinHealthyPercentage: sdk.Int32(-1), MaxHealthyPercentage: sdk.Int32(-1)}
	}
	return &out
}
