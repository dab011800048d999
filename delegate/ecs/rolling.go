package ecs

import (
	"context"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// rolling makes or updates the service, waits until its tasks are replaced, and
// then has what is to scale it scale it.
func (s *session) rolling(ctx context.Context) error {
	w, err := s.documents().wanted(ctx)
	if err != nil {
		return err
	}
	s.In(prepareUnit)
	live, err := s.ready(ctx, w.name)
	if err != nil {
		return err
	}
	var scales *scaling
	if !s.spec.SkipScaling {
		now, err := s.scalingOf(ctx, w.name)
		if err != nil {
			return err
		}
		scales = &now
	}
	was, err := s.keep(ctx, serviceKept, w.name, w.daemon(), live, scales)
	if err != nil {
		return err
	}

	s.In(deployUnit)
	definition, err := s.toDeploy(ctx, w)
	if err != nil {
		return err
	}
	if scales != nil && live != nil {
		if err := s.suspend(ctx, *scales); err != nil {
			return err
		}
	}
	if err := s.deploy(ctx, w, live, definition, was); err != nil {
		return err
	}
	if scales == nil {
		return nil
	}
	return s.converge(ctx, w.scaling.of(s.cluster, w.name), w.name)
}

// ready is the service that is there. One that is being deleted is waited for.
func (s *session) ready(ctx context.Context, name string) (*types.Service, error) {
	live, err := s.live(ctx, name)
	if err != nil || live == nil || sdk.ToString(live.Status) != draining {
		return live, err
	}
	return nil, s.free(ctx, name)
}

// toDeploy is the task definition that is deployed.
func (s *session) toDeploy(ctx context.Context, w *wanted) (string, error) {
	var err error
	if w.definition == nil {
		s.outputs.TaskDefinition, err = s.resolvedDefinition(ctx, s.spec.Target.TaskDefinitionARN)
	} else {
		s.outputs.TaskDefinition, err = s.register(ctx, w.definition)
	}
	return s.outputs.TaskDefinition, err
}

// deploy makes the service, or updates the one that is there, and waits until it
// is steady.
func (s *session) deploy(ctx context.Context, w *wanted, live *types.Service, definition string, was before) error {
	earlier, err := shifting{s}.earlier(ctx, live, w.create.DeploymentConfiguration)
	if err != nil {
		return err
	}
	one, err := s.put(ctx, w, live, definition, was)
	if err != nil {
		return err
	}
	s.outputs.of(one, was.First)
	if live != nil {
		if err := s.mark(ctx, live, w.create.Tags); err != nil {
			return err
		}
	}
	r := rollout{service: w.name, deployment: newestID(one), before: was.definition(), previous: newestID(live), made: live == nil}
	return shifting{s}.settle(ctx, r, one, live, earlier)
}

// put makes the service, or updates the one that is there.
func (s *session) put(ctx context.Context, w *wanted, live *types.Service, definition string, was before) (*types.Service, error) {
	if live == nil {
		one, err := s.create(ctx, w, definition)
		if !aws.Is(err, "InvalidParameterException") || !strings.Contains(err.Error(), "idempotent") {
			return one, err
		}
		// An earlier attempt has made it, which ECS didn't say yet.
		if live, err = s.appear(ctx, w.name); err != nil {
			return nil, err
		}
	}
	in := s.wantedUpdate(w, live, definition)
	in.ForceNewDeployment = s.forces(live, definition, was)
	return s.update(ctx, live, in)
}

// forces says whether the tasks are to be replaced although nothing differs. That
// is done once: not again if the stage has started such a deployment already.
func (s *session) forces(live *types.Service, definition string, was before) bool {
	if !s.spec.Force && s.spec.Target.TaskDefinitionARN == "" {
		return false
	}
	d := newest(live)
	begun := d != nil && sdk.ToString(d.Id) != was.Deployment && sdk.ToString(d.TaskDefinition) == definition && d.RolloutState != types.DeploymentRolloutStateFailed
	return !begun
}

// appear waits until ECS describes a service that is there.
func (s *session) appear(ctx context.Context, name string) (*types.Service, error) {
	var live *types.Service
	err := s.until(ctx, name, func(one types.Service, found bool) (awswait.State, error) {
		if found && sdk.ToString(one.Status) == inactive {
			return awswait.State{}, fault.New(fault.Conflict, "service %s was deleted meanwhile", name).Causing(fault.Unknown)
		}
		live = &one
		return awswait.State{Done: found, Progress: "Waiting for ECS to know the service " + name}, nil
	})
	return live, err
}
