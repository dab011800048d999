package instances

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The times of a watch: how often its script runs, and for how long.
const (
	lookEvery = 10 * time.Minute
	lookFor   = 5 * time.Minute
)

// Watch makes a watcher of custom deployments: it runs their script again and
// again. What the script says goes nowhere.
func Watch(script executor.Executor) executor.Watcher {
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := executor.Place[custom.Place](w.Kind, w.Place)
		if err != nil {
			return err
		}
		once := func(ctx context.Context) task.Observed { return look(ctx, w.Target, place.Script, script) }
		return executor.Watch(ctx, once, func(time.Duration) time.Duration { return lookEvery }, report)
	}
}

// look runs the script once. A script that fails is a trouble of the place.
func look(ctx context.Context, of task.Target, p custom.Instances, script executor.Executor) task.Observed {
	ctx, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	dir, err := os.MkdirTemp("", "slipway-look-")
	if err != nil {
		return task.Observed{Trouble: fmt.Sprintf("make a scratch directory: %v", err)}
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the folder of temporary files
	env := executor.Env{
		Writer: func(string, executor.Level) io.Writer { return io.Discard },
		Mask:   func(...string) {},
		Dir:    func() (string, error) { return dir, nil },
	}
	doc, failed, err := written(ctx, p, script, task.Assignment{Kind: task.KindShell}, env)
	switch {
	case err != nil:
		return task.Observed{Trouble: err.Error()}
	case failed != nil:
		return task.Observed{Trouble: failed.Message}
	}
	found, err := read(p, doc)
	if err != nil {
		return task.Observed{Trouble: err.Error()}
	}
	return task.Observed{Instances: kept(of, found)}
}
