package asg

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
)

// active says whether a refresh still does something.
func active(r types.InstanceRefresh) bool {
	switch r.Status {
	case types.InstanceRefreshStatusSuccessful, types.InstanceRefreshStatusFailed, types.InstanceRefreshStatusCancelled,
		types.InstanceRefreshStatusRollbackSuccessful, types.InstanceRefreshStatusRollbackFailed:
		return false
	case types.InstanceRefreshStatusPending, types.InstanceRefreshStatusInProgress, types.InstanceRefreshStatusBaking,
		types.InstanceRefreshStatusCancelling, types.InstanceRefreshStatusRollbackInProgress:
	}
	return true
}

// to is the version of a template that a refresh leads to; nil: the group's.
func to(r types.InstanceRefresh) *types.LaunchTemplateSpecification {
	if r.DesiredConfiguration == nil {
		return nil
	}
	return templateOf(&types.AutoScalingGroup{
		LaunchTemplate: r.DesiredConfiguration.LaunchTemplate, MixedInstancesPolicy: r.DesiredConfiguration.MixedInstancesPolicy,
	})
}

// leads says whether a refresh leads to a version of a template.
func (v version) leads(r types.InstanceRefresh) bool { return v.named(to(r)) }

// named says whether a group names this version.
func (v version) named(spec *types.LaunchTemplateSpecification) bool {
	return spec != nil && sdk.ToString(spec.LaunchTemplateId) == v.ID && sdk.ToString(spec.Version) == v.Number
}

// refreshes are those of a group, the newest first.
func (a account) refreshes(ctx context.Context, name string, ids ...string) ([]types.InstanceRefresh, error) {
	out, err := a.groups.DescribeInstanceRefreshes(ctx, &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: &name, InstanceRefreshIds: ids})
	if err != nil {
		return nil, a.Failed(ctx, "autoscaling:DescribeInstanceRefreshes", err)
	}
	return out.InstanceRefreshes, nil
}

// ours says whether the stage has started a refresh: it leads to a version that the
// stage has made.
func (s *session) ours(ctx context.Context, r types.InstanceRefresh) (bool, error) {
	spec := to(r)
	if spec == nil {
		return false, nil
	}
	v, err := s.version(ctx, spec)
	if err != nil || v == nil {
		return false, err
	}
	return marked(versionOf(*v), s.work), nil
}

// yield makes room for a refresh where another one goes on that isn't the stage's,
// as the step says.
func (s *session) yield(ctx context.Context, name string, how lane.Another) error {
	all, err := s.refreshes(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, active)
	if i < 0 {
		return nil
	}
	other := all[i]
	if mine, err := s.ours(ctx, other); err != nil || mine {
		return err
	}
	id := sdk.ToString(other.InstanceRefreshId)
	switch how {
	case lane.AnotherWaits:
		s.Say("Waiting for the instance refresh %s of somebody else", id)
		_, err := s.ended(ctx, name, id)
		return err
	case lane.AnotherYields:
		return s.cancel(ctx, name, id)
	case lane.AnotherFails:
	}
	return fault.New(fault.Conflict, "another instance refresh of Asg %s goes on: %s, %d %% completed; handleInProgressInstanceRefresh: Wait waits for its end, Cancel cancels it",
		name, id, sdk.ToInt32(other.PercentageComplete)).Causing(fault.Unknown)
}

// cancel cancels a refresh and waits until it has ended.
func (s *session) cancel(ctx context.Context, name, id string) error {
	_, err := s.groups.CancelInstanceRefresh(ctx, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: &name})
	if err != nil && !aws.Is(err, noRefresh) { // it has just ended, or is being cancelled
		return s.Failed(ctx, "autoscaling:CancelInstanceRefresh", err)
	}
	s.touch(name)
	s.Say("Cancelling the instance refresh %s", id)
	_, err = s.ended(ctx, name, id)
	return err
}

// What AWS says of refreshes.
const (
	noRefresh    = "ActiveInstanceRefreshNotFound"
	busyRefresh  = "InstanceRefreshInProgress"
	irreversible = "IrreversibleInstanceRefresh"
)

// ended waits until a refresh has ended, well or not, and says how it goes.
func (s *session) ended(ctx context.Context, name, id string) (types.InstanceRefresh, error) {
	var last types.InstanceRefresh
	err := awswait.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, func(ctx context.Context) (awswait.State, error) {
		all, err := s.refreshes(ctx, name, id)
		if err != nil {
			return awswait.State{}, err
		}
		if len(all) == 0 {
			return awswait.State{}, fault.New(fault.NotFound, "the instance refresh %s of Asg %s isn't there any more", id, name).Causing(fault.Unknown)
		}
		last = all[0]
		return awswait.State{Done: !active(last), Progress: progress(last)}, nil
	})
	return last, err
}

// progress is how far a refresh is, for people.
func progress(r types.InstanceRefresh) string {
	text := fmt.Sprintf("Percentage completed: %d", sdk.ToInt32(r.PercentageComplete))
	if r.Status != types.InstanceRefreshStatusInProgress {
		text += fmt.Sprintf(", %s", r.Status)
	}
	if why := sdk.ToString(r.StatusReason); why != "" {
		text += ". " + why
	}
	return text
}

// replace has the machines of a group replaced by those of a version, and gives the
// refresh that does so. One that the stage has started already goes on; one that
// has succeeded isn't done again.
func (s *session) replace(ctx context.Context, name string, in autoscaling.StartInstanceRefreshInput, v version) (types.InstanceRefresh, error) {
	if was, found, err := s.begun(ctx, name, v); err != nil || found {
		return was, err
	}
	in.AutoScalingGroupName, in.Strategy = &name, types.RefreshStrategyRolling
	s.touch(name)
	out, err := s.groups.StartInstanceRefresh(ctx, &in)
	switch {
	case aws.Is(err, busyRefresh): // perhaps the answer of a call was lost, which the SDK has sent again
		was, found, more := s.begun(ctx, name, v)
		if more != nil || found {
			return was, more
		}
		return was, s.Failed(ctx, "autoscaling:StartInstanceRefresh", err)
	case err != nil:
		return types.InstanceRefresh{}, s.Failed(ctx, "autoscaling:StartInstanceRefresh", err)
	}
	s.Say("Started the instance refresh %s", sdk.ToString(out.InstanceRefreshId))
	return types.InstanceRefresh{InstanceRefreshId: out.InstanceRefreshId, Status: types.InstanceRefreshStatusPending}, nil
}

// begun finds a refresh to a version that goes on, or that has succeeded if the
// stage has made that version.
func (s *session) begun(ctx context.Context, name string, v version) (types.InstanceRefresh, bool, error) {
	all, err := s.refreshes(ctx, name)
	if err != nil || len(all) == 0 || !v.leads(all[0]) {
		return types.InstanceRefresh{}, false, err
	}
	switch all[0].Status {
	case types.InstanceRefreshStatusPending, types.InstanceRefreshStatusInProgress, types.InstanceRefreshStatusBaking:
		s.Say("The instance refresh %s has been started already", sdk.ToString(all[0].InstanceRefreshId))
		return all[0], true, nil
	case types.InstanceRefreshStatusSuccessful:
		return all[0], marked(v, s.work), nil // to another version it may be one of long ago
	case types.InstanceRefreshStatusCancelling, types.InstanceRefreshStatusRollbackInProgress:
		_, err := s.ended(ctx, name, sdk.ToString(all[0].InstanceRefreshId))
		return types.InstanceRefresh{}, false, err
	case types.InstanceRefreshStatusFailed, types.InstanceRefreshStatusCancelled, types.InstanceRefreshStatusRollbackSuccessful, types.InstanceRefreshStatusRollbackFailed:
	}
	return types.InstanceRefresh{}, false, nil
}

// refreshed waits until a refresh has succeeded.
func (s *session) refreshed(ctx context.Context, name string, r types.InstanceRefresh) error {
	id := sdk.ToString(r.InstanceRefreshId)
	last, err := s.ended(ctx, name, id)
	if err != nil {
		return s.explained(ctx, name, err)
	}
	if last.Status == types.InstanceRefreshStatusSuccessful {
		return nil
	}
	return s.explained(ctx, name, fault.New(fault.Conflict, "the instance refresh %s of Asg %s is %s: %s", id, name, last.Status, reason(last)).Causing(fault.Unknown))
}

// reason is why a refresh has ended as it has.
func reason(r types.InstanceRefresh) string {
	if r.RollbackDetails != nil && sdk.ToString(r.RollbackDetails.RollbackReason) != "" {
		return sdk.ToString(r.RollbackDetails.RollbackReason)
	}
	if why := sdk.ToString(r.StatusReason); why != "" {
		return why
	}
	return "AWS doesn't say why"
}

// desired is a group's configuration with a version of its template, as a refresh
// has it.
func desired(policy *types.MixedInstancesPolicy, v version) *types.DesiredConfiguration {
	if policy != nil {
		return &types.DesiredConfiguration{MixedInstancesPolicy: mixed(policy, v)}
	}
	return &types.DesiredConfiguration{LaunchTemplate: v.reference()}
}

// early waits until as many machines of a version serve as should, although old
// ones may be there still.
func (s *session) early(ctx context.Context, name string, r types.InstanceRefresh, v version) error {
	id := sdk.ToString(r.InstanceRefreshId)
	return awswait.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, func(ctx context.Context) (awswait.State, error) {
		all, err := s.refreshes(ctx, name, id)
		if err != nil {
			return awswait.State{}, err
		}
		if len(all) > 0 && !active(all[0]) && all[0].Status != types.InstanceRefreshStatusSuccessful {
			return awswait.State{}, fault.New(fault.Conflict, "the instance refresh %s of Asg %s is %s: %s", id, name, all[0].Status, reason(all[0])).Causing(fault.Unknown)
		}
		live, err := s.live(ctx, name)
		if err != nil {
			return awswait.State{}, err
		}
		if live == nil {
			return awswait.State{}, deleted(name)
		}
		n := s.servingOf(*live, v)
		wanted := int(sdk.ToInt32(live.DesiredCapacity))
		return awswait.State{Done: n >= wanted, Progress: fmt.Sprintf("%d/%d instances of version %s are healthy", n, wanted, v.Number)}, nil
	})
}

// servingOf is how much of what a group desires the machines of a version are that serve.
func (*session) servingOf(one types.AutoScalingGroup, v version) int {
	ids, _ := serving(one)
	one.Instances = slices.DeleteFunc(slices.Clone(one.Instances), func(i types.Instance) bool { return !v.named(i.LaunchTemplate) })
	return capacity(one, ids)
}
