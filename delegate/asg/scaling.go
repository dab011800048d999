package asg

import (
	"context"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// scaling is what changes the size of a group: policies, and actions at times.
type scaling struct {
	Policies  []autoscaling.PutScalingPolicyInput              `json:"policies,omitempty"`
	Schedules []autoscaling.PutScheduledUpdateGroupActionInput `json:"schedules,omitempty"`
}

// scalingOf is what changes the size of a group now.
func (a account) scalingOf(ctx context.Context, name string) (scaling, error) {
	var out scaling
	policies := autoscaling.NewDescribePoliciesPaginator(a.groups, &autoscaling.DescribePoliciesInput{AutoScalingGroupName: &name})
	for policies.HasMorePages() {
		page, err := policies.NextPage(ctx)
		if err != nil {
			return out, a.Failed(ctx, "autoscaling:DescribePolicies", err)
		}
		for _, one := range page.ScalingPolicies {
			in, err := as[autoscaling.PutScalingPolicyInput](one)
			if err != nil {
				return out, err
			}
			in.AutoScalingGroupName = nil
			out.Policies = append(out.Policies, *in)
		}
	}
	actions := autoscaling.NewDescribeScheduledActionsPaginator(a.groups, &autoscaling.DescribeScheduledActionsInput{AutoScalingGroupName: &name})
	for actions.HasMorePages() {
		page, err := actions.NextPage(ctx)
		if err != nil {
			return out, a.Failed(ctx, "autoscaling:DescribeScheduledActions", err)
		}
		for _, one := range page.ScheduledUpdateGroupActions {
			in, err := as[autoscaling.PutScheduledUpdateGroupActionInput](one)
			if err != nil {
				return out, err
			}
			in.AutoScalingGroupName, in.Time = nil, nil // which StartTime says, too
			out.Schedules = append(out.Schedules, *in)
		}
	}
	return out, nil
}

// scale has a group scaled by what is wanted, and by nothing else. What is so
// already stays.
func (s *session) scale(ctx context.Context, name string, wanted scaling) error {
	now, err := s.scalingOf(ctx, name)
	if err != nil {
		return err
	}
	if err := s.scaleByPolicies(ctx, name, wanted, now); err != nil {
		return err
	}
	return s.scaleByTime(ctx, name, wanted, now)
}

func (s *session) scaleByPolicies(ctx context.Context, name string, wanted, now scaling) error {
	for _, one := range wanted.Policies {
		if slices.ContainsFunc(now.Policies, func(o autoscaling.PutScalingPolicyInput) bool { return same(o, one) }) {
			continue
		}
		one.AutoScalingGroupName = &name
		if _, err := s.groups.PutScalingPolicy(ctx, &one); err != nil {
			return s.Failed(ctx, "autoscaling:PutScalingPolicy", err)
		}
		s.Say("Put scaling policy %s", sdk.ToString(one.PolicyName))
	}
	for _, one := range now.Policies {
		if slices.ContainsFunc(wanted.Policies, func(o autoscaling.PutScalingPolicyInput) bool {
			return sdk.ToString(o.PolicyName) == sdk.ToString(one.PolicyName)
		}) {
			continue
		}
		if _, err := s.groups.DeletePolicy(ctx, &autoscaling.DeletePolicyInput{AutoScalingGroupName: &name, PolicyName: one.PolicyName}); err != nil && !unknown(err) {
			return s.Failed(ctx, "autoscaling:DeletePolicy", err)
		}
		s.Say("Deleted scaling policy %s", sdk.ToString(one.PolicyName))
	}
	return nil
}

func (s *session) scaleByTime(ctx context.Context, name string, wanted, now scaling) error {
	for _, one := range wanted.Schedules {
		if slices.ContainsFunc(now.Schedules, func(o autoscaling.PutScheduledUpdateGroupActionInput) bool { return same(o, one) }) {
			continue
		}
		if past(one) {
			if one.Recurrence == nil {
				s.Warn("scheduled action %s is left out: its StartTime, %s, is over", sdk.ToString(one.ScheduledActionName), sdk.ToTime(one.StartTime).Format(time.RFC3339))
				continue
			}
			one.StartTime = nil // it goes on from now
		}
		one.AutoScalingGroupName = &name
		if _, err := s.groups.PutScheduledUpdateGroupAction(ctx, &one); err != nil {
			return s.Failed(ctx, "autoscaling:PutScheduledUpdateGroupAction", err)
		}
		s.Say("Put scheduled action %s", sdk.ToString(one.ScheduledActionName))
	}
	for _, one := range now.Schedules {
		if slices.ContainsFunc(wanted.Schedules, func(o autoscaling.PutScheduledUpdateGroupActionInput) bool {
			return sdk.ToString(o.ScheduledActionName) == sdk.ToString(one.ScheduledActionName)
		}) {
			continue
		}
		if _, err := s.groups.DeleteScheduledAction(ctx, &autoscaling.DeleteScheduledActionInput{AutoScalingGroupName: &name, ScheduledActionName: one.ScheduledActionName}); err != nil && !unknown(err) {
			return s.Failed(ctx, "autoscaling:DeleteScheduledAction", err)
		}
		s.Say("Deleted scheduled action %s", sdk.ToString(one.ScheduledActionName))
	}
	return nil
}

// past says whether AWS would refuse the time at which an action begins.
func past(one autoscaling.PutScheduledUpdateGroupActionInput) bool {
	return one.StartTime != nil && !one.StartTime.After(time.Now())
}
