package awslambda

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
)

// watcher watches functions: it looks again and again which versions get requests.
func watcher(accesses *aws.Accesses, seldom time.Duration) executor.Watcher {
	return executor.WatchPlace(func(ctx context.Context, place lane.Place, workloads []task.Workload) task.Observed {
		return observe(ctx, accesses, place, workloads)
	}, awswait.Watch(seldom))
}

// observe looks once. What AWS doesn't say is a trouble of the place.
func observe(ctx context.Context, accesses *aws.Accesses, place lane.Place, workloads []task.Workload) task.Observed {
	access, err := accesses.Get(ctx, place.AWS, "")
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	var o task.Observed
	for _, one := range workloads {
		t, ok := trafficOf(access, one)
		if !ok {
			continue
		}
		instances, found, err := t.look(ctx)
		if err != nil {
			return task.Observed{Trouble: err.Error()}
		}
		o.Instances, o.Workloads = append(o.Instances, instances...), append(o.Workloads, found...)
	}
	return o
}
