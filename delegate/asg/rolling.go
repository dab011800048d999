package asg

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
)

// rolling is a task that deploys to a group.
type rolling struct{ s *session }

// do makes the group, or updates it and has its machines replaced.
func (r rolling) do(ctx context.Context) error {
	how := r.s.spec.Refresh
	if how == nil {
		return fault.New(fault.Invalid, "the task says nothing of how machines are replaced")
	}
	w, err := reader(r).wanted(ctx)
	if err != nil {
		return err
	}
	r.s.In(prepareUnit)
	live, err := r.s.ready(ctx, w.name)
	if err != nil {
		return err
	}
	if err := r.s.sized(w, live); err != nil {
		return err
	}
	return r.put(ctx, w, live, groupKept, *how)
}

// put makes a group what is wanted of it, once it is kept as it is.
func (r rolling) put(ctx context.Context, w *wanted, live *types.AutoScalingGroup, sort string, how lane.Refresh) error {
	live, err := r.undisturbed(ctx, w.name, live, how.Another)
	if err != nil {
		return err
	}
	was, err := r.s.keep(ctx, sort, w.name, live)
	if err != nil {
		return err
	}
	if live != nil && how.Another == lane.AnotherYields {
		if err := r.s.yield(ctx, w.name, how.Another); err != nil {
			return err
		}
	}
	return r.change(ctx, w, live, was, how)
}

// change makes a group what is wanted of it.
func (r rolling) change(ctx context.Context, w *wanted, live *types.AutoScalingGroup, was before, how lane.Refresh) error {
	r.s.In(deployUnit)
	v, err := r.deploy(ctx, w, live)
	if err != nil {
		return err
	}
	r.s.outputs.of(w, v, was)
	if was.First && !w.unused {
		if err := r.s.settle(ctx, w.name); err != nil {
			return err
		}
	}
	if err := r.s.scale(ctx, w.name, scaling{Policies: w.policies, Schedules: w.schedules}); err != nil {
		return err
	}
	if w.unused {
		err = r.freshen(ctx, w, v, how)
	} else if !was.First || live != nil && !v.named(templateOf(live)) { // one that the stage has made has the version
		err = r.roll(ctx, w, v, how)
	}
	if err != nil {
		return err
	}
	return r.s.measure(ctx, w.name, w.metrics)
}

// undisturbed gives the group once no refresh of somebody else changes it, unless
// that is to be cancelled: then it is kept before.
func (r rolling) undisturbed(ctx context.Context, name string, live *types.AutoScalingGroup, how lane.Another) (*types.AutoScalingGroup, error) {
	if live == nil || how == lane.AnotherYields {
		return live, nil
	}
	if err := r.s.yield(ctx, name, how); err != nil {
		return nil, err
	}
	return r.s.live(ctx, name)
}

// deploy makes the group, or gives it all of its configuration but the template,
// which it gets when the refresh has succeeded: until then what scales it starts
// machines that are known to work. One that nobody uses gets the template at once.
func (r rolling) deploy(ctx context.Context, w *wanted, live *types.AutoScalingGroup) (version, error) {
	if live == nil {
		v, err := r.s.newVersion(ctx, w)
		if err != nil {
			return v, err
		}
		return v, r.s.create(ctx, w, v)
	}
	if !w.unused {
		if err := r.pin(ctx, live); err != nil {
			return version{}, err
		}
	}
	v, err := r.s.newVersion(ctx, w)
	if err != nil {
		return v, err
	}
	in, err := wantedUpdate(w, v)
	if err != nil {
		return v, err
	}
	r.forGood(w, live)
	if err := r.s.update(ctx, live, in); err != nil {
		return v, err
	}
	if err := r.s.attach(ctx, live, w.create.TargetGroupARNs); err != nil {
		return v, err
	}
	tags := r.s.tags(w)
	return v, r.s.label(ctx, live, tags, aws.Dropped(valued(tagsOf(live)), valued(tags)))
}

// pin has a group name the version of its template by number that it names by the
// newest one: a new version would be what it starts machines from at once.
func (r rolling) pin(ctx context.Context, live *types.AutoScalingGroup) error {
	named := templateOf(live)
	if named == nil || !symbolic(versionNamed(named)) {
		return nil
	}
	if err := r.s.number(ctx, named); err != nil { // live has it from here on
		return err
	}
	now, err := updateOf(live)
	if err != nil {
		return err
	}
	in := &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: live.AutoScalingGroupName, LaunchTemplate: now.LaunchTemplate, MixedInstancesPolicy: now.MixedInstancesPolicy,
	}
	r.s.touch(sdk.ToString(live.AutoScalingGroupName))
	if _, err := r.s.groups.UpdateAutoScalingGroup(ctx, in); err != nil {
		return r.s.Failed(ctx, "autoscaling:UpdateAutoScalingGroup", err)
	}
	r.s.Say("Asg %s starts its instances from version %s of its launch template until the refresh has succeeded", sdk.ToString(live.AutoScalingGroupName), sdk.ToString(named.Version))
	return nil
}

// forGood warns of what of a configuration can't be changed by an update.
func (r rolling) forGood(w *wanted, live *types.AutoScalingGroup) {
	stays := func(what string) {
		r.s.Warn("%s of Asg %s stay as they were made; the configuration says others", what, w.name)
	}
	if len(w.create.LoadBalancerNames) > 0 && !slices.Equal(w.create.LoadBalancerNames, live.LoadBalancerNames) {
		stays("LoadBalancerNames")
	}
	for _, source := range w.create.TrafficSources {
		if !slices.ContainsFunc(live.TrafficSources, func(o types.TrafficSourceIdentifier) bool {
			return sdk.ToString(o.Identifier) == sdk.ToString(source.Identifier)
		}) {
			stays("TrafficSources")
			break
		}
	}
	if len(w.create.LifecycleHookSpecificationList) > 0 {
		r.s.Warn("the lifecycle hooks of Asg %s stay as they were made", w.name)
	}
}

// freshen replaces the machines of a group that start from the version already, as
// far as there are others.
func (r rolling) freshen(ctx context.Context, w *wanted, v version, how lane.Refresh) error {
	live, err := r.s.live(ctx, w.name)
	if err != nil {
		return err
	}
	if live == nil {
		return deleted(w.name)
	}
	if slices.ContainsFunc(live.Instances, func(i types.Instance) bool { return !leaving(i) && !v.named(i.LaunchTemplate) }) {
		return r.roll(ctx, w, v, how)
	}
	return r.s.settle(ctx, w.name)
}

// leaving says whether a machine is being terminated.
func leaving(i types.Instance) bool {
	return strings.HasPrefix(string(i.LifecycleState), string(types.LifecycleStateTerminating))
}

// roll replaces the machines of a group.
func (r rolling) roll(ctx context.Context, w *wanted, v version, how lane.Refresh) error {
	in := autoscaling.StartInstanceRefreshInput{
		DesiredConfiguration: desired(w.create.MixedInstancesPolicy, v),
		Preferences: &types.RefreshPreferences{
			MinHealthyPercentage: int32of(how.MinHealthy), MaxHealthyPercentage: int32of(how.MaxHealthy), SkipMatching: &how.SkipMatching,
		},
	}
	if how.Warmup != nil {
		in.Preferences.InstanceWarmup = int32of(*how.Warmup)
	}
	begun, err := r.s.replace(ctx, w.name, in, v)
	if err != nil {
		return err
	}
	r.s.outputs.Refresh = sdk.ToString(begun.InstanceRefreshId)
	if how.Early {
		return r.s.early(ctx, w.name, begun, v)
	}
	if err := r.s.refreshed(ctx, w.name, begun); err != nil {
		return err
	}
	return r.s.settle(ctx, w.name)
}
