package ecs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// rollback is a task that makes services what they were before its stage.
type rollback struct{ *session }

// restoreAll restores the services that EcsRollingDeploy has changed.
func (s rollback) restoreAll(ctx context.Context) error {
	s.In(rollbackUnit)
	all, err := executor.Kept[before](ctx, s.Env, serviceKept)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		s.Say("Nothing to roll back: EcsRollingDeploy changed nothing")
		return nil
	}
	for _, was := range all {
		if err := s.restore(ctx, was); err != nil {
			return err
		}
	}
	return nil
}

// restore makes one service what it was, whoever has deployed it since. One that the
// stage has made stays: without tasks, unless somebody else deploys it by now.
func (s rollback) restore(ctx context.Context, was before) error {
	find := s.live
	if was.First {
		find = s.sought
	}
	live, err := find(ctx, was.Service)
	if err != nil {
		return err
	}
	if live == nil {
		if !was.First {
			return fault.New(fault.NotFound, "service %s isn't there any more; it can't be rolled back", was.Service)
		}
		s.Say("Nothing to roll back: there is no service %s, as before", was.Service)
		return nil
	}
	if by := tagOf(live.Tags, aws.ExecutionTag); was.First && s.Accesses.Another(s.work, by) {
		s.Say("There was no service %s, but the execution %s has deployed it since: it stays", was.Service, by)
		s.outputs.of(live, false)
		return nil
	}
	s.touch(was.Service)
	if was.First {
		return s.empty(ctx, live, was)
	}
	if live, err = s.undone(ctx, live, was); err != nil {
		return err
	}
	if err := s.putBack(ctx, live, was); err != nil {
		return err
	}
	if was.Scaling == nil {
		return nil
	}
	return s.converge(ctx, *was.Scaling, was.Service)
}

// empty leaves a service that the stage has made without tasks. One that has a
// task on each instance can't be scaled, so that it is deleted.
func (s rollback) empty(ctx context.Context, live *types.Service, was before) error {
	if was.Daemon {
		return s.remove(ctx, was.Service)
	}
	if was.Scaling != nil {
		if err := s.converge(ctx, *was.Scaling, was.Service); err != nil {
			return err
		}
	}
	if live.DesiredCount > 0 {
		var err error
		if live, err = s.update(ctx, live, &ecs.UpdateServiceInput{DesiredCount: sdk.Int32(0)}); err != nil {
			return err
		}
	}
	s.outputs.of(live, true)
	return s.emptied(ctx, was.Service)
}

// undone waits while ECS rolls the service back by itself, and gives how the
// service is then.
func (s rollback) undone(ctx context.Context, live *types.Service, was before) (*types.Service, error) {
	if moves(live.DeploymentConfiguration) {
		return shifting(s).undone(ctx, live, was)
	}
	d := newest(live)
	if d == nil || sdk.ToString(d.TaskDefinition) != was.definition() || d.RolloutState != types.DeploymentRolloutStateInProgress {
		return live, nil
	}
	s.Say("ECS is rolling service %s back", was.Service)
	if err := s.settle(ctx, rollout{service: was.Service, deployment: sdk.ToString(d.Id)}, known(live)); err != nil {
		return nil, err
	}
	return s.appear(ctx, was.Service)
}

// putBack updates a service to what it was, unless it is so.
func (s rollback) putBack(ctx context.Context, live *types.Service, was before) error {
	in, differs := difference(was.Update, live)
	if !differs {
		s.Say("Service %s is already as before", was.Service)
		s.outputs.of(live, false)
		s.outputs.TaskDefinition = was.definition()
		return s.markBack(ctx, live, was)
	}
	if in.TaskDefinition != nil {
		arn, err := s.registerAgain(ctx, was.definition())
		if err != nil {
			return err
		}
		in.TaskDefinition = &arn
		s.Say("Rolling service %s back from task definition %s to %s", was.Service, sdk.ToString(live.TaskDefinition), arn)
	}
	earlier, err := shifting(s).earlier(ctx, live, was.Update.DeploymentConfiguration)
	if err != nil {
		return err
	}
	one, err := s.update(ctx, live, in)
	if err != nil {
		return err
	}
	s.outputs.of(one, false)
	s.outputs.TaskDefinition = sdk.ToString(one.TaskDefinition)
	if err := s.markBack(ctx, live, was); err != nil {
		return err
	}
	return shifting(s).settle(ctx, rollout{service: was.Service, deployment: newestID(one), previous: newestID(live)}, one, live, earlier)
}

// markBack gives a service the tags again that it had, without what the stage's
// definition has added.
func (s rollback) markBack(ctx context.Context, live *types.Service, was before) error {
	return s.retag(ctx, live, was.Tags, aws.Added(valued(live.Tags), valued(was.Tags)))
}
