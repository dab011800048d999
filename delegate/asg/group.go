package asg

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The bounds of an explanation: it says a few activities, and is given up rather
// than that it keeps a failure from being told.
const (
	explained   = 5
	explainFor  = 10 * time.Second
	mostRecords = 100
)

// ready is the group that is there. One that is being deleted is waited for.
func (s *session) ready(ctx context.Context, name string) (*types.AutoScalingGroup, error) {
	live, err := s.live(ctx, name)
	if err != nil || live == nil || !going(live) {
		return live, err
	}
	return nil, s.gone(ctx, name)
}

// going says whether a group is being deleted, which is all that its status tells.
func going(one *types.AutoScalingGroup) bool { return sdk.ToString(one.Status) != "" }

// gone waits until a group isn't there any more.
func (s *session) gone(ctx context.Context, name string) error {
	s.Say("Checking if Asg %s is deleted", name)
	return s.until(ctx, name, func(one types.AutoScalingGroup, found bool) (awswait.State, error) {
		return awswait.State{Done: !found, Progress: fmt.Sprintf("Asg %s still has %d instances", name, len(one.Instances))}, nil
	})
}

// until looks at a group until it is as judge wants it. Steps that wait for groups
// of one region look together.
func (s *session) until(ctx context.Context, name string, judge func(one types.AutoScalingGroup, found bool) (awswait.State, error)) error {
	place := s.waits.At(aws.PlaceOf(s.spec.Target.AWS))
	ask := awswait.Ask[types.AutoScalingGroup]{Most: mostGroups, Call: s.describe}
	return place.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, name, ask, judge)
}

// create makes a group that starts its machines from a version of its template.
func (s *session) create(ctx context.Context, w *wanted, v version) error {
	in := *w.create
	in.AutoScalingGroupName = &w.name
	if in.MixedInstancesPolicy != nil {
		in.MixedInstancesPolicy = mixed(in.MixedInstancesPolicy, v)
	} else {
		in.LaunchTemplate = v.reference()
	}
	in.Tags = s.tags(w)
	s.touch(w.name)
	_, err := s.groups.CreateAutoScalingGroup(ctx, &in)
	switch {
	case aws.Is(err, "AlreadyExists"): // the answer of a call was lost, which the SDK has sent again
	case err != nil:
		return s.Failed(ctx, "autoscaling:CreateAutoScalingGroup", err)
	}
	s.Say("Created Asg %s", w.name)
	return nil
}

// mixed is a policy of mixed instances that starts machines from a version of the
// group's template.
func mixed(p *types.MixedInstancesPolicy, v version) *types.MixedInstancesPolicy {
	out := *p
	template := types.LaunchTemplate{}
	if p.LaunchTemplate != nil {
		template = *p.LaunchTemplate
	}
	template.LaunchTemplateSpecification = v.reference()
	out.LaunchTemplate = &template
	return &out
}

// update changes a group that is there, as far as it differs.
func (s *session) update(ctx context.Context, live *types.AutoScalingGroup, wanted *autoscaling.UpdateAutoScalingGroupInput) error {
	now, err := updateOf(live)
	if err != nil {
		return err
	}
	in, differs := difference(wanted, now)
	if !differs {
		return nil
	}
	in.AutoScalingGroupName = live.AutoScalingGroupName
	s.touch(sdk.ToString(live.AutoScalingGroupName))
	if _, err := s.groups.UpdateAutoScalingGroup(ctx, in); err != nil {
		return s.Failed(ctx, "autoscaling:UpdateAutoScalingGroup", err)
	}
	s.Say("Updated Asg %s", sdk.ToString(live.AutoScalingGroupName))
	return nil
}

// remove deletes a group with its machines, and waits until it is gone. None isn't
// wrong.
func (s *session) remove(ctx context.Context, name string) error {
	live, err := s.live(ctx, name)
	if err != nil {
		return err
	}
	s.touch(name)
	if live == nil {
		s.Say("There is no Asg %s", name)
		return nil
	}
	if !going(live) {
		if err := s.forceDelete(ctx, name); err != nil {
			return err
		}
	}
	return s.gone(ctx, name)
}

// forceDelete has a group deleted as soon as AWS lets it be: what it is just doing
// may have to end before.
func (s *session) forceDelete(ctx context.Context, name string) error {
	wait := awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}
	return awswait.Until(ctx, wait, func(ctx context.Context) (awswait.State, error) {
		_, err := s.groups.DeleteAutoScalingGroup(ctx, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: &name, ForceDelete: sdk.Bool(true)})
		switch {
		case aws.Is(err, "ScalingActivityInProgress", "ResourceInUse"):
			return awswait.State{Progress: "Asg " + name + " can't be deleted yet: " + err.Error()}, nil
		case err != nil && !unknown(err):
			return awswait.State{}, s.Failed(ctx, "autoscaling:DeleteAutoScalingGroup", err)
		}
		return awswait.State{Done: true, Progress: "Deleting Asg " + name}, nil
	})
}

// unknown says whether AWS knows no such group.
func unknown(err error) bool {
	return aws.Is(err, "ValidationError") && strings.Contains(err.Error(), "not found")
}

// deleted is the error of a group that somebody has deleted.
func deleted(name string) error {
	return fault.New(fault.Conflict, "Asg %s was deleted meanwhile", name).Causing(fault.Unknown)
}

// settle waits until as many machines of a group serve as should, also to its load
// balancers. What keeps them from it is said.
func (s *session) settle(ctx context.Context, name string) error {
	err := s.until(ctx, name, func(one types.AutoScalingGroup, found bool) (awswait.State, error) {
		if !found || going(&one) {
			return awswait.State{}, deleted(name)
		}
		return s.steady(ctx, one)
	})
	if err != nil {
		return s.explained(ctx, name, err)
	}
	s.Say("Asg %s is steady", name)
	return nil
}

// steady judges a group.
func (s *session) steady(ctx context.Context, one types.AutoScalingGroup) (awswait.State, error) {
	serving, coming := serving(one)
	has, desired := capacity(one, serving), int(sdk.ToInt32(one.DesiredCapacity))
	state := awswait.State{Progress: fmt.Sprintf("%d/%d instances are healthy", has, desired)}
	if has < desired || coming > 0 {
		return state, nil
	}
	for _, group := range one.TargetGroupARNs {
		h, err := s.balancers.Health(ctx, group, serving...)
		if err != nil {
			return state, err
		}
		if h.Healthy+h.Unchecked < min(len(serving), desired) {
			state.Progress += fmt.Sprintf(", %d of them in the target group %s", h.Healthy, group)
			return state, nil
		}
	}
	state.Done = true
	return state, nil
}

// serving are the ids of the machines of a group that serve, and how many are
// coming.
func serving(one types.AutoScalingGroup) (ids []string, coming int) {
	for _, i := range one.Instances {
		switch {
		case i.LifecycleState == types.LifecycleStateInService && sdk.ToString(i.HealthStatus) == "Healthy":
			ids = append(ids, sdk.ToString(i.InstanceId))
		case slices.Contains([]types.LifecycleState{types.LifecycleStatePending, types.LifecycleStatePendingWait, types.LifecycleStatePendingProceed}, i.LifecycleState):
			coming++
		}
	}
	return ids, coming
}

// capacity is how much of what a group desires some of its machines are: each is one of
// it, unless a mixed instances policy gives weights to types of machines.
func capacity(one types.AutoScalingGroup, ids []string) int {
	n := 0
	for _, i := range one.Instances {
		if !slices.Contains(ids, sdk.ToString(i.InstanceId)) {
			continue
		}
		weight, err := strconv.Atoi(sdk.ToString(i.WeightedCapacity))
		if err != nil {
			weight = 1 // it has none
		}
		n += weight
	}
	return n
}

// explained says what the group has failed to do lately.
func (s *session) explained(ctx context.Context, name string, failure error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), explainFor)
	defer stop()
	out, err := s.groups.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: &name, MaxRecords: sdk.Int32(mostRecords)})
	if err != nil {
		return failure // nothing more is known
	}
	why, said := "", 0
	for _, a := range out.Activities { // the newest first
		if a.StatusCode != types.ScalingActivityStatusCodeFailed && a.StatusCode != types.ScalingActivityStatusCodeCancelled {
			continue
		}
		if said++; said > explained {
			break
		}
		if why == "" {
			why = sdk.ToString(a.StatusMessage)
		}
		s.Say("%s %s: %s: %s", sdk.ToTime(a.StartTime).UTC().Format(time.RFC3339), a.StatusCode, sdk.ToString(a.Description), sdk.ToString(a.StatusMessage))
	}
	if why == "" {
		return failure
	}
	return fmt.Errorf("%w; of Asg %s AWS says: %s", failure, name, why)
}
