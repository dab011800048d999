package ecs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// scaleService gives a service of the cluster another number of tasks.
func (s *session) scaleService(ctx context.Context) error {
	s.In(deployUnit)
	how := s.spec.Scale
	if how == nil {
		return fault.New(fault.Invalid, "the task says nothing of how a service is scaled")
	}
	live, err := s.live(ctx, how.Service)
	if err != nil {
		return err
	}
	if live == nil || sdk.ToString(live.Status) == draining {
		return fault.New(fault.NotFound, "there is no service %s in the cluster %s", how.Service, s.name).Causing(fault.ConfigurationFailure)
	}
	if live.SchedulingStrategy == types.SchedulingStrategyDaemon {
		return wrong("service %s has the scheduling strategy DAEMON, a task on each instance; it can't be scaled", how.Service)
	}
	n := counted(*how, live.DesiredCount)
	scales, err := s.scalingOf(ctx, how.Service)
	if err != nil {
		return err
	}
	for _, t := range scales.Targets {
		if n < sdk.ToInt32(t.MinCapacity) || n > sdk.ToInt32(t.MaxCapacity) {
			s.Warn("Application Auto Scaling keeps service %s between %d and %d tasks; it will change %d back", how.Service, sdk.ToInt32(t.MinCapacity), sdk.ToInt32(t.MaxCapacity), n)
		}
	}
	s.outputs.Service, s.outputs.Previous, s.outputs.Count = how.Service, &live.DesiredCount, &n
	one, err := s.update(ctx, live, &ecs.UpdateServiceInput{DesiredCount: &n})
	if err != nil || s.spec.SkipSteady {
		return err
	}
	return s.settle(ctx, rollout{service: how.Service, deployment: newestID(one)}, known(live))
}

// counted is how many tasks are wanted where there should be some now.
func counted(how lane.Scale, now int32) int32 {
	if how.Count != nil {
		return int32(*how.Count) //nolint:gosec // a number of tasks
	}
	p := int64(*how.Percentage)
	return int32((int64(now)*p + 99) / 100) //nolint:gosec // likewise
}
