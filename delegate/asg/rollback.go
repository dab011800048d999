package asg

import (
	"context"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The bounds within which a rollback replaces machines: all that there were serve
// while as many come.
const (
	backMinHealthy = 100
	backMaxHealthy = 200
)

// rollback is a task that makes groups what they were before.
type rollback struct{ s *session }

// do makes the groups that the stage has changed what they were before.
func (b rollback) do(ctx context.Context) error {
	b.s.In(rollbackUnit)
	all, err := executor.Kept[before](ctx, b.s.Env, groupKept)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		b.s.Say("Nothing to roll back: AsgRollingDeploy changed nothing")
		return nil
	}
	for _, was := range all {
		if theirs, err := b.theirs(ctx, was); err != nil {
			return err
		} else if theirs {
			continue
		}
		if err := b.restore(ctx, was); err != nil {
			return err
		}
	}
	return nil
}

// theirs says whether another execution deploys by now to a group that the stage was
// the first to make: that stays.
func (b rollback) theirs(ctx context.Context, was before) (bool, error) {
	if !was.First {
		return false, nil
	}
	live, err := b.s.live(ctx, was.Group)
	if err != nil || live == nil {
		return false, err
	}
	by := tagIn(live.Tags, aws.ExecutionTag)
	if !b.s.Accesses.Another(b.s.work, by) {
		return false, nil
	}
	b.s.outputs.Name = was.Group
	b.s.Say("There was no Asg %s, but the execution %s has deployed to it since: it stays", was.Group, by)
	return true, nil
}

// restore makes one group what it was, whoever has deployed to it since. One that the
// stage has made is deleted.
func (b rollback) restore(ctx context.Context, was before) error {
	b.s.outputs.Name = was.Group
	if was.First {
		return b.undo(ctx, was)
	}
	live, err := b.s.live(ctx, was.Group)
	if err != nil {
		return err
	}
	if live == nil || going(live) {
		return fault.New(fault.NotFound, "Asg %s isn't there any more; it can't be rolled back", was.Group)
	}
	b.s.touch(was.Group)
	if err := b.turnBack(ctx, was.Group); err != nil {
		return err
	}
	if live, err = b.s.live(ctx, was.Group); err != nil {
		return err
	}
	if live == nil {
		return deleted(was.Group)
	}
	if err := b.putBack(ctx, live, was); err != nil {
		return err
	}
	if err := b.rollTo(ctx, was); err != nil {
		return err
	}
	return b.s.settle(ctx, was.Group)
}

// undo deletes a group that the stage has made, and its launch template if the
// stage has made that.
func (b rollback) undo(ctx context.Context, was before) error {
	if err := b.s.remove(ctx, was.Group); err != nil || was.Template {
		return err
	}
	return b.s.deleteTemplate(ctx, was.Group)
}

// turnBack ends what a refresh of the stage is doing. One of somebody else is
// waited for.
func (b rollback) turnBack(ctx context.Context, name string) error {
	all, err := b.s.refreshes(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, active)
	if i < 0 {
		return nil
	}
	id := sdk.ToString(all[i].InstanceRefreshId)
	mine, err := b.s.ours(ctx, all[i])
	if err != nil {
		return err
	}
	busy := all[i].Status == types.InstanceRefreshStatusRollbackInProgress || all[i].Status == types.InstanceRefreshStatusCancelling
	if mine && !busy {
		_, err := b.s.groups.RollbackInstanceRefresh(ctx, &autoscaling.RollbackInstanceRefreshInput{AutoScalingGroupName: &name})
		switch {
		case aws.Is(err, irreversible):
			b.s.Say("The instance refresh %s can't be rolled back by AWS", id)
			return b.s.cancel(ctx, name, id)
		case err != nil && !aws.Is(err, noRefresh):
			return b.s.Failed(ctx, "autoscaling:RollbackInstanceRefresh", err)
		}
		b.s.Say("Rolling back the instance refresh %s", id)
	}
	last, err := b.s.ended(ctx, name, id)
	if err != nil {
		return err
	}
	b.s.Say("The instance refresh %s is %s", id, last.Status)
	return nil
}

// putBack gives a group its configuration again, with all that is around it.
func (b rollback) putBack(ctx context.Context, live *types.AutoScalingGroup, was before) error {
	now, err := updateOf(live)
	if err != nil {
		return err
	}
	if err := b.s.update(ctx, live, cleared(was.Update, now)); err != nil {
		return err
	}
	if err := b.s.attach(ctx, live, was.TargetGroups); err != nil {
		return err
	}
	had := valued(was.Tags)
	given := aws.Added(valued(tagsOf(live)), had)
	if _, coloured := had[colourTag]; !coloured {
		given = append(given, colourTag)
	}
	if err := b.s.label(ctx, live, was.Tags, given); err != nil {
		return err
	}
	if err := b.s.scale(ctx, was.Group, was.Scaling); err != nil {
		return err
	}
	return b.s.measureAgain(ctx, was)
}

// rollTo replaces the machines of a group that aren't of the version that it had.
func (b rollback) rollTo(ctx context.Context, was before) error {
	live, err := b.s.live(ctx, was.Group)
	if err != nil {
		return err
	}
	if live == nil {
		return deleted(was.Group)
	}
	v := version{}
	if from := was.from(); from != nil {
		v = version{ID: sdk.ToString(from.LaunchTemplateId), Number: sdk.ToString(from.Version)}
	}
	b.s.outputs.back(live, v)
	if sdk.ToInt32(live.DesiredCapacity) == 0 {
		b.s.Say("Asg %s has no instances", was.Group)
		return nil
	}
	if !slices.ContainsFunc(live.Instances, func(i types.Instance) bool { return !v.started(i, was) }) {
		b.s.Say("All instances of Asg %s are as before", was.Group)
		return nil
	}
	in := autoscaling.StartInstanceRefreshInput{Preferences: &types.RefreshPreferences{
		MinHealthyPercentage: sdk.Int32(backMinHealthy), MaxHealthyPercentage: sdk.Int32(backMaxHealthy), SkipMatching: sdk.Bool(true),
	}}
	if v.ID != "" {
		in.DesiredConfiguration = desired(was.Update.MixedInstancesPolicy, v)
	}
	r, err := b.s.replace(ctx, was.Group, in, v)
	if err != nil {
		return err
	}
	b.s.outputs.Refresh = sdk.ToString(r.InstanceRefreshId)
	return b.s.refreshed(ctx, was.Group, r)
}

// started says whether a machine was started as the group did before.
func (v version) started(i types.Instance, was before) bool {
	if v.ID == "" {
		return sdk.ToString(i.LaunchConfigurationName) == sdk.ToString(was.Update.LaunchConfigurationName)
	}
	return v.named(i.LaunchTemplate)
}
