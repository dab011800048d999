package asg

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsdiff"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
)

// comparing is a task that tells what a step that deploys would change. Where that
// makes another group, it is compared with the one whose place it takes.
type comparing struct {
	s    *session
	diff awsdiff.Diff
}

// compare compares what is there with what the documents say, and changes nothing.
func (c *comparing) compare(ctx context.Context) error {
	w, err := reader{c.s}.wanted(ctx)
	if err != nil {
		return err
	}
	c.s.In(diffUnit)
	live, err := c.instead(ctx, w)
	if err != nil {
		return err
	}
	if err := c.templates(ctx, w, live); err != nil {
		return err
	}
	if err := c.settings(w, live); err != nil {
		return err
	}
	if c.s.spec.Op != lane.OpCanaryDiff { // nothing scales one
		if err := c.scalings(ctx, w, live); err != nil {
			return err
		}
	}
	if c.diff.Empty() {
		c.s.Say("Nothing would change")
	}
	c.s.outputs.Outputs = c.diff.Outputs(c.s.Warn)
	return nil
}

// instead makes the documents those of the group that the step would make or update,
// and gives the one that it is compared with; nil: there is none.
func (c *comparing) instead(ctx context.Context, w *wanted) (*types.AutoScalingGroup, error) {
	switch c.s.spec.Op { //nolint:exhaustive // the others don't compare
	case lane.OpBlueGreenDiff:
		return c.coloured(ctx, w)
	case lane.OpSetupDiff:
		all, err := move{c.s}.numbered(ctx, w.name)
		if err != nil {
			return nil, err
		}
		old, name := following(w.name, all)
		err = c.s.sized(w, old)
		w.name = name
		return old, err
	}
	live, err := c.s.live(ctx, w.name)
	if err != nil {
		return nil, err
	}
	if live != nil && going(live) {
		live = nil
	}
	if c.s.spec.Op == lane.OpDiff {
		return live, c.s.sized(w, live)
	}
	w.name += canarySuffix
	w.create.MinSize, w.create.MaxSize, w.create.DesiredCapacity = nil, nil, nil
	c.s.Say("The canary would be Asg %s", w.name)
	return live, nil
}

// coloured is of a group beside the one with the traffic.
func (c *comparing) coloured(ctx context.Context, w *wanted) (*types.AutoScalingGroup, error) {
	g := bluegreen{c.s}
	found := &colours{Group: w.name}
	var err error
	if found.Fronts, err = g.fronts(ctx, c.s.spec.Balancers); err != nil {
		return nil, err
	}
	live := map[string]*types.AutoScalingGroup{}
	for n := range 2 {
		name := found.of(n + 1)
		one, err := c.s.live(ctx, name)
		if err != nil {
			return nil, err
		}
		if one != nil && !going(one) {
			live[name] = one
		}
	}
	if err := found.choose(live[found.of(1)], live[found.of(2)]); err != nil {
		return nil, err
	}
	old := live[found.Old]
	c.s.Say("Traffic goes to %s; the new version would be for Asg %s", cmp.Or(found.Old, "no group"), found.New)
	if err := c.s.sized(w, old); err != nil {
		return nil, err
	}
	w.name, w.create.TargetGroupARNs = found.New, found.targets()
	if old != nil { // which target groups a group is behind changes every time
		w.create.TargetGroupARNs = old.TargetGroupARNs
	}
	w.create.Tags = slices.DeleteFunc(w.create.Tags, func(t types.Tag) bool { return sdk.ToString(t.Key) == colourTag })
	return old, nil
}

// differs notes how something of a group would differ from that of another one; nil is
// nothing.
func (c *comparing) differs(kind, name string, than *types.AutoScalingGroup, was, is any) error {
	from := name
	if than != nil {
		from = sdk.ToString(than.AutoScalingGroupName)
	}
	return c.tell(kind+name, kind+from, was, is)
}

func (c *comparing) tell(name, than string, was, is any) error {
	hunks, err := c.diff.Beside(name, than, was, is)
	if hunks != "" {
		c.s.Say("%s\n%s", name, hunks)
	}
	return err
}

// templates compares the version of the launch template that the group has with the
// one that it would get, of which nothing is taken over.
func (c *comparing) templates(ctx context.Context, w *wanted, live *types.AutoScalingGroup) error {
	is, user := template(w.template.LaunchTemplateData)
	if len(user) > 0 {
		is["userData"] = user
	}
	const kind = "LaunchTemplate/"
	named := templateOf(live)
	if named == nil {
		return c.differs(kind, w.name, nil, nil, is)
	}
	v, err := c.s.version(ctx, named)
	if err != nil {
		return err
	}
	if v == nil || v.LaunchTemplateData == nil {
		return c.differs(kind, w.name, nil, nil, is)
	}
	data, err := as[ec2types.RequestLaunchTemplateData](v.LaunchTemplateData)
	if err != nil {
		return err
	}
	was, old := template(data)
	if len(old) > 0 {
		was["userData"] = hidden(old, user)
	}
	return c.differs(kind, w.name, live, was, is)
}

// template is a launch template as documents have it, and the lines of what its
// machines do first.
func template(data *ec2types.RequestLaunchTemplateData) (map[string]any, []string) {
	one := *data
	one.UserData = nil
	one.TagSpecifications = slices.DeleteFunc(slices.Clone(one.TagSpecifications), func(t ec2types.LaunchTemplateTagSpecificationRequest) bool {
		return t.ResourceType == ec2types.ResourceTypeLaunchTemplate // the template's own, not those of what it starts
	})
	out, ok := awsdiff.Plain(one).(map[string]any)
	if !ok {
		out = map[string]any{} // it says nothing
	}
	if data.UserData == nil {
		return out, nil
	}
	text, err := base64.StdEncoding.DecodeString(*data.UserData)
	if err != nil {
		return out, []string{*data.UserData}
	}
	return out, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// hidden are lines that there are without those that won't be: they may hold secrets
// that nobody here knows.
func hidden(was, is []string) []string {
	out := slices.Clone(was)
	for i, line := range out {
		if !slices.Contains(is, line) {
			out[i] = awsdiff.Unshown
		}
	}
	return out
}

// settings compares the group with its configuration. What that doesn't say stays,
// but for the target groups.
func (c *comparing) settings(w *wanted, live *types.AutoScalingGroup) error {
	const kind = "AutoScalingGroup/"
	in := *w.create
	in.AutoScalingGroupName, in.LaunchTemplate, in.Tags, in.TargetGroupARNs = nil, nil, nil, nil
	if p := in.MixedInstancesPolicy; p != nil {
		in.MixedInstancesPolicy = mixed(p, version{})
		in.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification = nil // compared already
	}
	if live == nil {
		return c.differs(kind, w.name, nil, nil, beside(awsdiff.Plain(in), w.create.TargetGroupARNs, w.create.Tags))
	}
	wanted, err := as[autoscaling.UpdateAutoScalingGroupInput](in) // the rest can't be updated
	if err != nil {
		return err
	}
	now, err := updateOf(live)
	if err != nil {
		return err
	}
	dropped := aws.Dropped(valued(tagsOf(live)), valued(c.s.tags(w)))
	tags := slices.DeleteFunc(tagsOf(live), func(t types.Tag) bool {
		key := sdk.ToString(t.Key)
		return aws.Own(key) || !slices.Contains(dropped, key) && !slices.ContainsFunc(w.create.Tags, func(o types.Tag) bool { return sdk.ToString(o.Key) == key })
	})
	is := awsdiff.Plain(*wanted)
	return c.differs(kind, w.name, live, beside(awsdiff.Masked(awsdiff.Plain(*now), is), live.TargetGroupARNs, tags), beside(is, w.create.TargetGroupARNs, w.create.Tags))
}

// beside is a plain group with its target groups and tags, in an order of their own.
func beside(group any, targets []string, tags []types.Tag) map[string]any {
	out := map[string]any{}
	if members, ok := group.(map[string]any); ok {
		maps.Copy(out, members)
	}
	if len(targets) > 0 {
		out["targetGroupARNs"] = slices.Sorted(slices.Values(targets))
	}
	if len(tags) > 0 {
		values := map[string]string{}
		for _, t := range tags {
			values[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
		}
		out["tags"] = values
	}
	return out
}

// scalings compares what scales the group with what would.
func (c *comparing) scalings(ctx context.Context, w *wanted, live *types.AutoScalingGroup) error {
	var now scaling
	if live != nil {
		var err error
		if now, err = c.s.scalingOf(ctx, sdk.ToString(live.AutoScalingGroupName)); err != nil {
			return err
		}
	}
	policies := func(all []autoscaling.PutScalingPolicyInput) map[string]any {
		out := map[string]any{}
		for _, one := range all {
			out[sdk.ToString(one.PolicyName)] = awsdiff.Plain(one)
		}
		return out
	}
	if err := c.each("ScalingPolicy/", policies(now.Policies), policies(w.policies)); err != nil {
		return err
	}
	actions := func(all []autoscaling.PutScheduledUpdateGroupActionInput) map[string]any {
		out := map[string]any{}
		for _, one := range all {
			out[sdk.ToString(one.ScheduledActionName)] = awsdiff.Plain(one)
		}
		return out
	}
	then := slices.DeleteFunc(slices.Clone(w.schedules), func(one autoscaling.PutScheduledUpdateGroupActionInput) bool {
		return past(one) && one.Recurrence == nil // AWS would refuse it
	})
	return c.each("ScheduledAction/", actions(now.Schedules), actions(then))
}

// each compares what there is with what there would be, by their names.
func (c *comparing) each(kind string, was, is map[string]any) error {
	names := map[string]bool{}
	for _, some := range []map[string]any{was, is} {
		for name := range some {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before := was[name]
		if before != nil && is[name] != nil {
			before = awsdiff.Masked(before, is[name])
		}
		if err := c.tell(kind+name, kind+name, before, is[name]); err != nil {
			return err
		}
	}
	return nil
}
