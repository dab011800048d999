package ecs

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The times of a watch: how often it looks, and how often just after a
// deployment, when it begins anew.
const (
	lookEvery  = 10 * time.Minute
	lookSooner = time.Minute
	sooner     = 5 * time.Minute
	lookFor    = 2 * time.Minute
)

// watcher watches the services that were deployed to a cluster, and their tasks.
func watcher(accesses *aws.Accesses) executor.Watcher {
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := executor.Place[lane.Place](w.Kind, w.Place)
		if err != nil {
			return err
		}
		var last task.Observed
		var told time.Time // when the control plane was told last
		for began := time.Now(); ; {
			o := observe(ctx, accesses, place, w.Workloads)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if time.Since(told) >= task.ObserveEvery || !reflect.DeepEqual(o, last) {
				err := report(ctx, o)
				if fault.Is(err, fault.LeaseLost) {
					return err
				}
				if err == nil {
					last, told = o, time.Now()
				}
			}
			every := lookEvery
			if time.Since(began) < sooner {
				every = lookSooner
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(every):
			}
		}
	}
}

// observe looks once. What AWS refuses is a trouble of the place.
func observe(ctx context.Context, accesses *aws.Accesses, place lane.Place, workloads []task.Workload) task.Observed {
	ctx, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	c, err := open(ctx, accesses, place.AWS, place.Cluster, "")
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	var names []string
	for _, w := range workloads {
		names = append(names, w.Selector)
	}
	slices.Sort(names)
	found, err := c.look(ctx, names)
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	o := task.Observed{Instances: []task.Instance{}}
	for _, name := range names {
		o.Workloads = append(o.Workloads, found.workloads[name])
	}
	for _, one := range found.tasks[:min(task.MaxInstances, len(found.tasks))] {
		o.Instances = append(o.Instances, one.instance)
	}
	return o
}
