package asg

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/pkg/task"
)

// looked is what some groups are, and which machines they run.
type looked struct {
	groups    map[string]types.AutoScalingGroup // those that there are
	workloads map[string]task.Workload          // by the group's name
	machines  []running
}

// running is a machine of a group.
type running struct {
	types.Instance
	group    string
	instance task.Instance
}

// workload is a group as the ledger names it.
func (a account) workload(group string) string {
	return "autoscaling/AutoScalingGroup/" + a.Region + "/" + group
}

// look looks at groups and their machines.
func (a account) look(ctx context.Context, names []string) (looked, error) {
	out := looked{workloads: map[string]task.Workload{}}
	var err error
	if out.groups, err = a.describe(ctx, names); err != nil {
		return out, err
	}
	images := images{}
	for _, name := range names {
		w := task.Workload{Resource: a.workload(name), Selector: name}
		one, ok := out.groups[name]
		if !ok || going(&one) {
			w.Gone = true
			out.workloads[name] = w
			continue
		}
		if err := images.learn(ctx, a, one); err != nil {
			return out, err
		}
		if out.workloads[name], err = a.asIs(ctx, w, one, images); err != nil {
			return out, err
		}
		for _, i := range one.Instances {
			if i.LifecycleState == types.LifecycleStateInService {
				out.machines = append(out.machines, running{Instance: i, group: name, instance: instance(i, name, images)})
			}
		}
	}
	return out, nil
}

// asIs says of a group from what it starts machines, and how many it should have.
// That is nobody's to say where something scales it.
func (a account) asIs(ctx context.Context, w task.Workload, one types.AutoScalingGroup, known images) (task.Workload, error) {
	if spec := templateOf(&one); spec != nil {
		if image := known[keyOf(spec)]; image != "" {
			w.Images = append(w.Images, image)
		}
		w.Images = append(w.Images, keyOf(spec)) // two versions may have one image
	}
	scales, err := a.scalingOf(ctx, sdk.ToString(one.AutoScalingGroupName))
	if err == nil && len(scales.Policies) == 0 && len(scales.Schedules) == 0 {
		n := int64(sdk.ToInt32(one.DesiredCapacity))
		w.Replicas = &n
	}
	return w, err
}

// images are those of versions of launch templates, as far as they are there.
type images map[string]string

// keyOf is a version of a launch template, for people.
func keyOf(spec *types.LaunchTemplateSpecification) string {
	return sdk.ToString(spec.LaunchTemplateId) + ":" + versionNamed(spec)
}

// learn learns from which images the machines of a group were started, and those
// to come will be.
func (i images) learn(ctx context.Context, a account, one types.AutoScalingGroup) error {
	wanted := map[string][]string{} // the versions of templates
	more := func(spec *types.LaunchTemplateSpecification) {
		if spec == nil || spec.LaunchTemplateId == nil {
			return
		}
		id, version := *spec.LaunchTemplateId, versionNamed(spec)
		if _, known := i[keyOf(spec)]; !known && !slices.Contains(wanted[id], version) {
			wanted[id] = append(wanted[id], version)
		}
	}
	more(templateOf(&one))
	for _, m := range one.Instances {
		more(m.LaunchTemplate)
	}
	for id, versions := range wanted {
		for _, v := range versions { // one by one: of several AWS gives none if one was deleted
			spec := &types.LaunchTemplateSpecification{LaunchTemplateId: &id, Version: &v}
			found, err := a.version(ctx, spec)
			if err != nil {
				return err
			}
			i[keyOf(spec)] = ""
			if found != nil {
				i[keyOf(spec)] = versionOf(*found).Image
			}
		}
	}
	return nil
}

// instance is a machine as the ledger has it.
func instance(m types.Instance, group string, known images) task.Instance {
	i := task.Instance{
		Name: sdk.ToString(m.InstanceId), Release: group, Canary: strings.HasSuffix(group, canarySuffix), Phase: string(m.LifecycleState), Ready: sdk.ToString(m.HealthStatus) == "Healthy",
	}
	more := map[string]string{
		"autoScalingGroup": group, "availabilityZone": sdk.ToString(m.AvailabilityZone), "instanceType": sdk.ToString(m.InstanceType),
		"health": sdk.ToString(m.HealthStatus),
	}
	image := sdk.ToString(m.ImageId)
	if spec := m.LaunchTemplate; spec != nil {
		more["launchTemplate"], more["launchTemplateVersion"] = sdk.ToString(spec.LaunchTemplateName), sdk.ToString(spec.Version)
		if image == "" {
			image = known[keyOf(spec)]
		}
	}
	if image != "" {
		i.Images = []string{image}
	}
	for name, value := range more {
		if value == "" {
			delete(more, name)
		}
	}
	i.Describe(more)
	return i
}
