package executor

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is what a delegate does for tasks of a kind.
type Kind struct {
	Do Executor
	// Watch watches for the instance ledger what the tasks have put somewhere; nil
	// for those that put nothing anywhere.
	Watch Watcher
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
