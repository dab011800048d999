package elastigroup

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// lookFor is how long one look of a watch may take.
const lookFor = 2 * time.Minute

// watcher watches the groups that were deployed, and their machines.
func watcher(cfg Config) executor.Watcher {
	return executor.WatchPlace(func(ctx context.Context, place lane.Place, workloads []task.Workload) task.Observed {
		return newClient(place.Spot, cfg.Via, cfg.Patience).observe(ctx, workloads)
	}, awswait.Watch(cfg.InstancePoll))
}

// observe looks once. What Spot refuses is a trouble of the place.
func (c *client) observe(ctx context.Context, workloads []task.Workload) task.Observed {
	ctx, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	var ids []string
	for _, w := range workloads {
		ids = append(ids, w.Selector)
	}
	slices.Sort(ids)
	found, err := c.look(ctx, ids)
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	o := task.Observed{Instances: []task.Instance{}}
	for _, id := range ids {
		o.Workloads = append(o.Workloads, found.workloads[id])
	}
	for _, one := range found.machines[:min(task.MaxInstances, len(found.machines))] {
		o.Instances = append(o.Instances, one.instance)
	}
	return o
}
