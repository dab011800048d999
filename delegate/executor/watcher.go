package executor

import (
	"context"
	"reflect"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is what a delegate does for tasks of a kind.
type Kind struct {
	Do Executor
	// Watch watches for the instance ledger what the tasks have put somewhere; nil
	// for those that put nothing anywhere.
	Watch Watcher
	// Sessions are what the tasks open on this machine; nil for those that open
	// nothing.
	Sessions *Sessions
}

// Sessions are the sessions of a machine (see pkg/session).
type Sessions struct {
	Machine func() (string, error) // its name for the control plane
	// Tools are the programs on it that steps may run, each as name=version.
	Tools func(ctx context.Context) []string
	// Open lists those that are open.
	Open func() []task.Session
	// Close ends one, whose part of its execution has ended.
	Close func(ctx context.Context, id string) error
}

// Watcher watches what tasks of a kind have put somewhere, one release, until
// ctx ends. The watch's place has its secrets in place. It reports what runs:
// once it knows, whenever that changes, and at least every task.ObserveEvery.
//
// A report that is refused with fault.LeaseLost ends the watch. If another
// can't be delivered, the next one is tried as soon as there is reason, or
// after a pause. An error means that looking is no use any more, for instance
// because the credentials are no longer taken; the agent asks for the watch
// anew.
type Watcher func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error

// Watch is the loop of a Watcher whose target doesn't say by itself that
// something has changed: it looks again and again. every says after which time,
// by how long the watch has lasted.
func Watch(
	ctx context.Context, look func(context.Context) task.Observed, every func(watched time.Duration) time.Duration,
	report func(context.Context, task.Observed) error,
) error {
	var last task.Observed
	var told time.Time // when the control plane was told last
	for began := time.Now(); ; {
		o := look(ctx)
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every(time.Since(began))):
		}
	}
}

// WatchPlace makes the Watcher of a kind whose places are of type P, and which
// looks again and again at what runs there, every so often as Watch says.
func WatchPlace[P any](
	look func(ctx context.Context, place P, workloads []task.Workload) task.Observed, every func(watched time.Duration) time.Duration,
) Watcher {
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := Place[P](w.Kind, w.Place)
		if err != nil {
			return err
		}
		return Watch(ctx, func(ctx context.Context) task.Observed { return look(ctx, place, w.Workloads) }, every, report)
	}
}
