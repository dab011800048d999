package awslambda

import (
	"context"
	"reflect"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The times of a watch: it looks often after a deployment, and then seldom.
const (
	freshFor   = 5 * time.Minute
	freshEvery = time.Minute
	lookEvery  = 10 * time.Minute
)

// Watch makes a watcher of functions: it looks again and again which versions get
// requests.
func Watch(accesses *aws.Accesses) executor.Watcher {
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := executor.Place[lane.Place](w.Kind, w.Place)
		if err != nil {
			return err
		}
		var last task.Observed
		var told time.Time // when the control plane was told last
		for began := time.Now(); ; {
			o := observe(ctx, accesses, place, w)
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
			if time.Since(began) < freshFor {
				every = freshEvery
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(every):
			}
		}
	}
}

// observe looks once. What AWS doesn't say is a trouble of the place.
func observe(ctx context.Context, accesses *aws.Accesses, place lane.Place, w task.Watch) task.Observed {
	access, err := accesses.Get(ctx, place.AWS, "")
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	var o task.Observed
	for _, one := range w.Workloads {
		t, ok := trafficOf(access, one)
		if !ok {
			continue
		}
		instances, workloads, err := t.look(ctx)
		if err != nil {
			return task.Observed{Trouble: err.Error()}
		}
		o.Instances, o.Workloads = append(o.Instances, instances...), append(o.Workloads, workloads...)
	}
	return o
}
