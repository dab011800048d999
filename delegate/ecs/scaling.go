package ecs

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	scalingtypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/slipway-cd/slipway/delegate/aws"
)

// scaling is what scales a service: its scalable targets, of which it has one for
// each dimension, and their policies.
type scaling struct {
	Targets  []applicationautoscaling.RegisterScalableTargetInput `json:"targets,omitempty"`
	Policies []applicationautoscaling.PutScalingPolicyInput       `json:"policies,omitempty"`
}

// resource is a service as Application Auto Scaling names it.
func (c cluster) resource(service string) string { return "service/" + c.short() + "/" + service }

// scalingOf is what scales a service now, as the calls that would make it so again.
func (c cluster) scalingOf(ctx context.Context, service string) (scaling, error) {
	resource := c.resource(service)
	var out scaling
	targets := applicationautoscaling.NewDescribeScalableTargetsPaginator(c.scaling, &applicationautoscaling.DescribeScalableTargetsInput{
		ServiceNamespace: scalingtypes.ServiceNamespaceEcs, ResourceIds: []string{resource},
	})
	for targets.HasMorePages() {
		page, err := targets.NextPage(ctx)
		if err != nil {
			return out, c.Failed(ctx, "application-autoscaling:DescribeScalableTargets", err)
		}
		for _, t := range page.ScalableTargets {
			out.Targets = append(out.Targets, applicationautoscaling.RegisterScalableTargetInput{
				ResourceId: t.ResourceId, ScalableDimension: t.ScalableDimension, ServiceNamespace: t.ServiceNamespace,
				MinCapacity: t.MinCapacity, MaxCapacity: t.MaxCapacity, SuspendedState: t.SuspendedState,
			})
		}
	}
	if len(out.Targets) == 0 {
		return out, nil
	}
	policies := applicationautoscaling.NewDescribeScalingPoliciesPaginator(c.scaling, &applicationautoscaling.DescribeScalingPoliciesInput{
		ServiceNamespace: scalingtypes.ServiceNamespaceEcs, ResourceId: &resource,
	})
	for policies.HasMorePages() {
		page, err := policies.NextPage(ctx)
		if err != nil {
			return out, c.Failed(ctx, "application-autoscaling:DescribeScalingPolicies", err)
		}
		for _, p := range page.ScalingPolicies {
			out.Policies = append(out.Policies, applicationautoscaling.PutScalingPolicyInput{
				PolicyName: p.PolicyName, ResourceId: p.ResourceId, ScalableDimension: p.ScalableDimension, ServiceNamespace: p.ServiceNamespace,
				PolicyType: p.PolicyType, PredictiveScalingPolicyConfiguration: p.PredictiveScalingPolicyConfiguration,
				StepScalingPolicyConfiguration: p.StepScalingPolicyConfiguration, TargetTrackingScalingPolicyConfiguration: p.TargetTrackingScalingPolicyConfiguration,
			})
		}
	}
	return out, nil
}

// of is what a service's documents say, for a service of the cluster. A target is
// no longer suspended unless its document says so.
func (w scaling) of(c cluster, service string) scaling {
	resource, out := c.resource(service), scaling{}
	for _, t := range w.Targets {
		t.ResourceId, t.ServiceNamespace = &resource, scalingtypes.ServiceNamespaceEcs
		if t.ScalableDimension == "" {
			t.ScalableDimension = scalingtypes.ScalableDimensionECSServiceDesiredCount
		}
		if t.SuspendedState == nil {
			t.SuspendedState = suspension(false)
		}
		out.Targets = append(out.Targets, t)
	}
	for _, p := range w.Policies {
		p.ResourceId, p.ServiceNamespace = &resource, scalingtypes.ServiceNamespaceEcs
		if p.ScalableDimension == "" {
			p.ScalableDimension = scalingtypes.ScalableDimensionECSServiceDesiredCount
		}
		out.Policies = append(out.Policies, p)
	}
	return out
}

// suspension is whether scaling rests.
func suspension(rests bool) *scalingtypes.SuspendedState {
	return &scalingtypes.SuspendedState{DynamicScalingInSuspended: &rests, DynamicScalingOutSuspended: &rests, ScheduledScalingSuspended: &rests}
}

// suspend has what scales a service rest, so that it doesn't work against a
// deployment. That is one call which can be taken back, where nothing is lost if
// the delegate dies.
func (s *session) suspend(ctx context.Context, live scaling) error {
	for _, t := range live.Targets {
		if same(t.SuspendedState, suspension(true)) {
			continue
		}
		if err := s.putTarget(ctx, applicationautoscaling.RegisterScalableTargetInput{
			ResourceId: t.ResourceId, ScalableDimension: t.ScalableDimension, ServiceNamespace: t.ServiceNamespace, SuspendedState: suspension(true),
		}); err != nil {
			return err
		}
		s.Say("Suspended the scaling of %s", sdk.ToString(t.ResourceId))
	}
	return nil
}

// converge makes what scales a service what is wanted. What is so already isn't
// touched.
func (s *session) converge(ctx context.Context, want scaling, service string) error {
	live, err := s.scalingOf(ctx, service)
	if err != nil {
		return err
	}
	for _, t := range want.Targets {
		if slices.ContainsFunc(live.Targets, func(o applicationautoscaling.RegisterScalableTargetInput) bool { return same(o, t) }) {
			continue
		}
		if err := s.putTarget(ctx, t); err != nil {
			return err
		}
		s.Say("Scalable target %s: %d to %d tasks", sdk.ToString(t.ResourceId), sdk.ToInt32(t.MinCapacity), sdk.ToInt32(t.MaxCapacity))
	}
	for _, p := range want.Policies {
		if slices.ContainsFunc(live.Policies, func(o applicationautoscaling.PutScalingPolicyInput) bool { return same(o, p) }) {
			continue
		}
		if _, err := s.scaling.PutScalingPolicy(ctx, &p); err != nil {
			return s.Failed(ctx, "application-autoscaling:PutScalingPolicy", err)
		}
		s.Say("Put scaling policy %s", sdk.ToString(p.PolicyName))
	}
	return s.prune(ctx, want, live)
}

// prune deletes the policies and targets that aren't wanted. One that is gone by
// then is as good: the call may have been sent twice.
func (s *session) prune(ctx context.Context, want, live scaling) error {
	for _, p := range live.Policies {
		if slices.ContainsFunc(want.Policies, func(o applicationautoscaling.PutScalingPolicyInput) bool {
			return sdk.ToString(o.PolicyName) == sdk.ToString(p.PolicyName) && o.ScalableDimension == p.ScalableDimension
		}) {
			continue
		}
		if _, err := s.scaling.DeleteScalingPolicy(ctx, &applicationautoscaling.DeleteScalingPolicyInput{
			PolicyName: p.PolicyName, ResourceId: p.ResourceId, ScalableDimension: p.ScalableDimension, ServiceNamespace: p.ServiceNamespace,
		}); err != nil && !aws.Is(err, "ObjectNotFoundException") {
			return s.Failed(ctx, "application-autoscaling:DeleteScalingPolicy", err)
		}
		s.Say("Deleted scaling policy %s", sdk.ToString(p.PolicyName))
	}
	for _, t := range live.Targets {
		if slices.ContainsFunc(want.Targets, func(o applicationautoscaling.RegisterScalableTargetInput) bool {
			return o.ScalableDimension == t.ScalableDimension
		}) {
			continue
		}
		if _, err := s.scaling.DeregisterScalableTarget(ctx, &applicationautoscaling.DeregisterScalableTargetInput{
			ResourceId: t.ResourceId, ScalableDimension: t.ScalableDimension, ServiceNamespace: t.ServiceNamespace,
		}); err != nil && !aws.Is(err, "ObjectNotFoundException") {
			return s.Failed(ctx, "application-autoscaling:DeregisterScalableTarget", err)
		}
		s.Say("Deregistered scalable target %s", sdk.ToString(t.ResourceId))
	}
	return nil
}

func (s *session) putTarget(ctx context.Context, t applicationautoscaling.RegisterScalableTargetInput) error {
	if _, err := s.scaling.RegisterScalableTarget(ctx, &t); err != nil {
		return s.Failed(ctx, "application-autoscaling:RegisterScalableTarget", err)
	}
	return nil
}

// same says whether two values of the SDK are the same to AWS: what they hold,
// not what of it is nil.
func same(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}
