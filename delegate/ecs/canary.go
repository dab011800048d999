package ecs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
)

// A canary is a service beside the one that serves, whose name has an end of its
// own.
const (
	canarySuffix = "Canary"
	mostName     = 255 // characters of a service's name
)

func canaryName(service string) string {
	return service[:min(len(service), mostName-len(canarySuffix))] + canarySuffix
}

// canary is a task that makes a canary, or deletes it.
type canary struct{ *session }

// begin makes or updates the canary of a service, with one task.
func (s canary) begin(ctx context.Context) error {
	w, err := s.documents().wanted(ctx)
	if err != nil {
		return err
	}
	if err := w.countable("there is no canary of it"); err != nil {
		return err
	}
	w = w.named(canaryName(w.name))
	w.create.DesiredCount, w.update.DesiredCount = sdk.Int32(1), sdk.Int32(1)
	s.outputs.Canary = w.name
	s.In(prepareUnit)
	live, err := s.ready(ctx, w.name)
	if err != nil {
		return err
	}
	was, err := s.keep(ctx, canaryKept, w.name, false, live, nil)
	if err != nil {
		return err
	}
	s.In(deployUnit)
	definition, err := s.toDeploy(ctx, w)
	if err != nil {
		return err
	}
	return s.deploy(ctx, w, live, definition, was)
}

// end deletes the canary of the service, also where no step of the stage has made
// it.
func (s canary) end(ctx context.Context) error {
	s.In(canaryUnit)
	all, err := executor.Kept[before](ctx, s.Env, canaryKept)
	if err != nil {
		return err
	}
	name := ""
	if len(all) > 0 {
		name = all[0].Service
		if _, err := s.sought(ctx, name); err != nil {
			return err
		}
	} else {
		w, err := s.documents().service(ctx)
		if err != nil {
			return err
		}
		name = canaryName(w.name)
	}
	s.outputs.Canary = name
	return s.remove(ctx, name)
}

// remove deletes a service with its tasks, and waits until it is gone. Of none
// that isn't wrong.
func (s *session) remove(ctx context.Context, name string) error {
	live, err := s.live(ctx, name)
	if err != nil {
		return err
	}
	s.touch(name)
	if live == nil {
		s.Say("There is no service %s", name)
		return nil
	}
	if sdk.ToString(live.Status) != draining {
		_, err := s.ecs.DeleteService(ctx, &ecs.DeleteServiceInput{Cluster: &s.name, Service: &name, Force: sdk.Bool(true)})
		if err != nil && !aws.Is(err, "ServiceNotFoundException", "ServiceNotActiveException") {
			return s.Failed(ctx, "ecs:DeleteService", err)
		}
		s.Say("Deleted service %s", name)
	}
	return s.free(ctx, name)
}
