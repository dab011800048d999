package asg

import (
	"context"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// steady is a task about a group that is there, which it leaves as it is but for
// its size.
type steady struct{ s *session }

// name is what the group is called: as the step says, or as the stage has deployed
// it, or as its configuration says.
func (t steady) name(ctx context.Context) (string, error) {
	if t.s.spec.Name != "" {
		return t.s.spec.Name, nil
	}
	all, err := executor.Kept[before](ctx, t.s.Env, groupKept)
	if err != nil {
		return "", err
	}
	if len(all) > 0 {
		return all[0].Group, nil
	}
	if c, err := bluegreen(t).colours(ctx); err != nil || c != nil {
		return c.newest(), err
	}
	return reader(t).name(ctx)
}

// do waits until the newest refresh of a group has succeeded, and its machines
// serve.
func (t steady) do(ctx context.Context) error {
	name, err := t.name(ctx)
	if err != nil {
		return err
	}
	t.s.In(deployUnit)
	if t.s.spec.Poll > 0 {
		t.s.Pace = awswait.Every(time.Duration(t.s.spec.Poll) * time.Second)
	}
	t.s.outputs.Name = name
	t.s.touch(name)
	all, err := t.s.refreshes(ctx, name)
	if unknown(err) {
		return fault.New(fault.NotFound, "there is no Asg %s", name).Causing(fault.ConfigurationFailure)
	}
	if err != nil {
		return err
	}
	if len(all) == 0 {
		if made, err := t.made(ctx, name); err != nil || made {
			return err
		}
		return misconfigured("Asg %s has no instance refresh; AsgSteadyState waits for one of AsgRollingDeploy, and is not supported for canary and blue/green", name)
	}
	t.s.outputs.Refresh = sdk.ToString(all[0].InstanceRefreshId)
	if err := t.s.refreshed(ctx, name, all[0]); err != nil {
		return err
	}
	return t.s.settle(ctx, name)
}

// made waits for the machines of a group that the stage has made: there was nothing
// to replace, so that there is no refresh.
func (t steady) made(ctx context.Context, name string) (bool, error) {
	all, err := executor.Kept[before](ctx, t.s.Env, groupKept)
	if err != nil || !slices.ContainsFunc(all, func(was before) bool { return was.Group == name && was.First }) {
		return false, err
	}
	t.s.Say("The stage has made Asg %s, so that there is no instance refresh", name)
	return true, t.s.settle(ctx, name)
}

// scale gives a group another number of machines, within its bounds.
func (t steady) scale(ctx context.Context) error {
	how := t.s.spec.Selection
	if how == nil {
		return fault.New(fault.Invalid, "the task says nothing of how a group is scaled")
	}
	name, err := t.name(ctx)
	if err != nil {
		return err
	}
	t.s.In(deployUnit)
	live, err := t.s.live(ctx, name)
	if err != nil {
		return err
	}
	if live == nil || going(live) {
		return fault.New(fault.NotFound, "there is no Asg %s", name).Causing(fault.ConfigurationFailure)
	}
	n, least, most := selected(*how, sdk.ToInt32(live.DesiredCapacity)), sdk.ToInt32(live.MinSize), sdk.ToInt32(live.MaxSize)
	if n < least || n > most {
		return misconfigured("Asg %s can have %d to %d instances; want a number of these, not %d", name, least, most, n)
	}
	t.s.outputs.Name, t.s.outputs.PreviousDesired = name, live.DesiredCapacity
	if !t.s.spec.Elsewhere {
		t.s.touch(name)
	} else {
		t.s.outputs.sizes(*live)
	}
	if n != sdk.ToInt32(live.DesiredCapacity) {
		if _, err := t.s.groups.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
			AutoScalingGroupName: &name, DesiredCapacity: &n, HonorCooldown: sdk.Bool(false),
		}); err != nil {
			return t.s.Failed(ctx, "autoscaling:SetDesiredCapacity", err)
		}
		t.s.Say("Scaled Asg %s from %d to %d instances", name, sdk.ToInt32(live.DesiredCapacity), n)
	}
	if t.s.spec.SkipSteady {
		return nil
	}
	return t.s.settle(ctx, name)
}
