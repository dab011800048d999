package testaws_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	scaling "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/google/go-cmp/cmp"
)

// Scalable targets keep what isn't said, are suspended, have tags, and take
// their policies along.
func TestScaling(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	definition := c.define(t, "web", "web:1")
	for _, name := range []string{"web", "web__1"} {
		in := c.web(definition)
		in.ServiceName, in.ClientToken = &name, nil
		if _, err := c.CreateService(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	s := scaling.NewFromConfig(c.world.Config(), func(o *scaling.Options) { o.RetryMaxAttempts = 1 })
	const dimension, namespace = types.ScalableDimensionECSServiceDesiredCount, types.ServiceNamespaceEcs
	register := func(service string, low, high *int32, suspended *types.SuspendedState) (*scaling.RegisterScalableTargetOutput, error) {
		return s.RegisterScalableTarget(t.Context(), &scaling.RegisterScalableTargetInput{
			ResourceId: aws.String("service/test/" + service), ScalableDimension: dimension, ServiceNamespace: namespace,
			MinCapacity: low, MaxCapacity: high, SuspendedState: suspended,
		})
	}
	_, err := register("none", aws.Int32(1), aws.Int32(3), nil)
	wantCode(t, "no service", err, "ValidationException")
	_, err = register("web", nil, nil, nil)
	wantCode(t, "no bounds", err, "ValidationException")
	policy := func(service, name string) error {
		_, err := s.PutScalingPolicy(t.Context(), &scaling.PutScalingPolicyInput{
			PolicyName: &name, ResourceId: aws.String("service/test/" + service), ScalableDimension: dimension, ServiceNamespace: namespace,
			PolicyType: types.PolicyTypeTargetTrackingScaling,
			TargetTrackingScalingPolicyConfiguration: &types.TargetTrackingScalingPolicyConfiguration{
				TargetValue:                   aws.Float64(50),
				PredefinedMetricSpecification: &types.PredefinedMetricSpecification{PredefinedMetricType: types.MetricTypeECSServiceAverageCPUUtilization},
			},
		})
		return err
	}
	wantCode(t, "a policy without a target", policy("web", "cpu"), "ObjectNotFoundException")
	var arn *string
	for _, name := range []string{"web", "web__1"} {
		out, err := register(name, aws.Int32(1), aws.Int32(3), nil)
		if err != nil {
			t.Fatal(err)
		}
		arn = out.ScalableTargetARN
		wantCode(t, "a policy", policy(name, "cpu"), "")
		wantCode(t, "a second policy", policy(name, "memory"), "")
	}
	if _, err := register("web__1", nil, nil, &types.SuspendedState{DynamicScalingInSuspended: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	targets, err := s.DescribeScalableTargets(t.Context(), &scaling.DescribeScalableTargetsInput{
		ServiceNamespace: namespace, ResourceIds: []string{"service/test/web__1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	target := targets.ScalableTargets[0]
	got := []any{
		len(targets.ScalableTargets), *target.MinCapacity, *target.MaxCapacity,
		aws.ToBool(target.SuspendedState.DynamicScalingInSuspended), aws.ToBool(target.SuspendedState.DynamicScalingOutSuspended),
	}
	if d := cmp.Diff([]any{1, int32(1), int32(3), true, false}, got); d != "" {
		t.Errorf("the target (-want +got):\n%s", d)
	}
	if _, err := s.TagResource(t.Context(), &scaling.TagResourceInput{ResourceARN: arn, Tags: map[string]string{"team": "shop"}}); err != nil {
		t.Fatal(err)
	}
	tags, err := s.ListTagsForResource(t.Context(), &scaling.ListTagsForResourceInput{ResourceARN: arn})
	if err != nil || tags.Tags["team"] != "shop" {
		t.Errorf("tags %v, %v", tags, err)
	}
	policies := func(service string, names ...string) int {
		out, err := s.DescribeScalingPolicies(t.Context(), &scaling.DescribeScalingPoliciesInput{
			ServiceNamespace: namespace, ResourceId: aws.String("service/test/" + service), PolicyNames: names,
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.ScalingPolicies)
	}
	counts := []int{policies("web__1"), policies("web__1", "cpu")}
	deregister := func() error {
		_, err := s.DeregisterScalableTarget(t.Context(), &scaling.DeregisterScalableTargetInput{
			ResourceId: aws.String("service/test/web__1"), ScalableDimension: dimension, ServiceNamespace: namespace,
		})
		return err
	}
	wantCode(t, "deregister", deregister(), "")
	wantCode(t, "deregister again", deregister(), "ObjectNotFoundException")
	counts = append(counts, policies("web__1"), policies("web"))
	if d := cmp.Diff([]int{2, 1, 0, 2}, counts); d != "" {
		t.Errorf("policies (-want +got):\n%s", d)
	}
}
