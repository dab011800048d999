package asg

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// mostTargetGroups is how many target groups a call attaches.
const mostTargetGroups = 10

// attach has a group registered in some target groups, and in no others.
func (s *session) attach(ctx context.Context, live *types.AutoScalingGroup, wanted []string) error {
	more := slices.DeleteFunc(slices.Clone(wanted), func(arn string) bool { return slices.Contains(live.TargetGroupARNs, arn) })
	for some := range slices.Chunk(more, mostTargetGroups) {
		if _, err := s.groups.AttachLoadBalancerTargetGroups(ctx, &autoscaling.AttachLoadBalancerTargetGroupsInput{
			AutoScalingGroupName: live.AutoScalingGroupName, TargetGroupARNs: some,
		}); err != nil {
			return s.Failed(ctx, "autoscaling:AttachLoadBalancerTargetGroups", err)
		}
		s.Say("Attached to %s", strings.Join(some, ", "))
	}
	less := slices.DeleteFunc(slices.Clone(live.TargetGroupARNs), func(arn string) bool { return slices.Contains(wanted, arn) })
	for some := range slices.Chunk(less, mostTargetGroups) {
		if _, err := s.groups.DetachLoadBalancerTargetGroups(ctx, &autoscaling.DetachLoadBalancerTargetGroupsInput{
			AutoScalingGroupName: live.AutoScalingGroupName, TargetGroupARNs: some,
		}); err != nil {
			return s.Failed(ctx, "autoscaling:DetachLoadBalancerTargetGroups", err)
		}
		s.Say("Detached from %s", strings.Join(some, ", "))
	}
	return nil
}

// label gives a group tags, as far as it hasn't them, and takes others away.
func (s *session) label(ctx context.Context, live *types.AutoScalingGroup, wanted []types.Tag, less []string) error {
	now := tagsOf(live)
	more := slices.DeleteFunc(slices.Clone(wanted), func(t types.Tag) bool {
		return slices.ContainsFunc(now, func(o types.Tag) bool {
			return sdk.ToString(o.Key) == sdk.ToString(t.Key) && sdk.ToString(o.Value) == sdk.ToString(t.Value) && sdk.ToBool(o.PropagateAtLaunch) == sdk.ToBool(t.PropagateAtLaunch)
		})
	})
	// Those that go, go first: a group has fifty at most.
	if rest := slices.DeleteFunc(now, func(t types.Tag) bool { return !slices.Contains(less, sdk.ToString(t.Key)) }); len(rest) > 0 {
		if _, err := s.groups.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: rest}); err != nil {
			return s.Failed(ctx, "autoscaling:DeleteTags", err)
		}
	}
	if len(more) > 0 {
		if _, err := s.groups.CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: more}); err != nil {
			return s.Failed(ctx, "autoscaling:CreateOrUpdateTags", err)
		}
	}
	return nil
}

// measure has the metrics of a group collected that are wanted, and no others.
func (s *session) measure(ctx context.Context, name string, wanted *metrics) error {
	if wanted == nil {
		return nil
	}
	live, err := s.live(ctx, name)
	if err != nil || live == nil {
		return err
	}
	if !wanted.Enabled {
		return s.measureLess(ctx, name, live.EnabledMetrics, nil)
	}
	granularities := map[string][]string{}
	for _, m := range wanted.Listed {
		granularities[m.Granularity] = append(granularities[m.Granularity], m.Metric)
	}
	if len(wanted.Listed) == 0 {
		granularities[usualGranularity] = nil // all of them
	}
	var names []string
	for granularity, some := range granularities {
		some = slices.DeleteFunc(some, func(m string) bool { return m == "" })
		names = append(names, some...)
		if len(some) > 0 && !slices.ContainsFunc(some, func(m string) bool { return !measured(live.EnabledMetrics, m, granularity) }) {
			continue
		}
		if _, err := s.groups.EnableMetricsCollection(ctx, &autoscaling.EnableMetricsCollectionInput{
			AutoScalingGroupName: &name, Granularity: &granularity, Metrics: some,
		}); err != nil {
			return s.Failed(ctx, "autoscaling:EnableMetricsCollection", err)
		}
		s.Say("Metrics of Asg %s are collected", name)
	}
	if len(names) == 0 {
		return nil
	}
	return s.measureLess(ctx, name, live.EnabledMetrics, names)
}

func measured(all []types.EnabledMetric, name, granularity string) bool {
	return slices.ContainsFunc(all, func(m types.EnabledMetric) bool {
		return sdk.ToString(m.Metric) == name && sdk.ToString(m.Granularity) == granularity
	})
}

// measureLess stops collecting metrics, but for some.
func (s *session) measureLess(ctx context.Context, name string, all []types.EnabledMetric, but []string) error {
	var names []string
	for _, m := range all {
		if !slices.Contains(but, sdk.ToString(m.Metric)) {
			names = append(names, sdk.ToString(m.Metric))
		}
	}
	if len(names) == 0 {
		return nil
	}
	if _, err := s.groups.DisableMetricsCollection(ctx, &autoscaling.DisableMetricsCollectionInput{AutoScalingGroupName: &name, Metrics: names}); err != nil {
		return s.Failed(ctx, "autoscaling:DisableMetricsCollection", err)
	}
	s.Say("Metrics of Asg %s aren't collected any more: %s", name, strings.Join(names, ", "))
	return nil
}

// measureAgain has the metrics collected that were before.
func (s *session) measureAgain(ctx context.Context, was before) error {
	again := metrics{Enabled: len(was.Metrics) > 0}
	for _, m := range was.Metrics {
		again.Listed = append(again.Listed, metric{Metric: sdk.ToString(m.Metric), Granularity: sdk.ToString(m.Granularity)})
	}
	return s.measure(ctx, was.Group, &again)
}
