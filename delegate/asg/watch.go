package asg

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/task"
)

// lookFor is how long one look of a watch may take.
const lookFor = 2 * time.Minute

// watcher watches the groups that were deployed, and their machines.
func watcher(accesses *aws.Accesses, seldom time.Duration) executor.Watcher {
	return executor.WatchPlace(func(ctx context.Context, place lane.Place, workloads []task.Workload) task.Observed {
		return observe(ctx, accesses, place, workloads)
	}, awswait.Watch(seldom))
}

// observe looks once. What AWS refuses is a trouble of the place.
func observe(ctx context.Context, accesses *aws.Accesses, place lane.Place, workloads []task.Workload) task.Observed {
	ctx, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	a, err := open(ctx, accesses, place.AWS, "")
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	var names []string
	for _, w := range workloads {
		names = append(names, w.Selector)
	}
	slices.Sort(names)
	found, err := a.look(ctx, names)
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	o := task.Observed{Instances: []task.Instance{}}
	for _, name := range names {
		o.Workloads = append(o.Workloads, found.workloads[name])
	}
	for _, one := range found.machines[:min(task.MaxInstances, len(found.machines))] {
		o.Instances = append(o.Instances, one.instance)
	}
	return o
}
