package agent_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Nothing is changed before what is there was kept: an executor waits until the
// control plane answers, and ends if the task isn't its own any more.
func TestCheckpointsAreKeptBeforeAnything(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]fault.Code{"answers that are lost": fault.Unavailable, "a lease that is lost": fault.LeaseLost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t)
				p.checkpoint = func(n int, k protocol.KeepCheckpoint) (task.Checkpoint, error) {
					if n <= 3 {
						return task.Checkpoint{}, fault.New(refuse, "not now")
					}
					return task.Checkpoint{Key: k.Key, Data: []byte(`"first"`)}, nil
				}
				p.offer(ids(1)...)
				var got task.Checkpoint
				var err error
				asked := make(chan struct{})
				s := p.start(func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
					defer close(asked)
					if got, err = env.Checkpoint(ctx, "arn", "mine"); err != nil {
						return task.Result{}, err
					}
					return succeed(ctx, a, env)
				}, nil)
				<-asked
				s.finish()
				if refuse == fault.LeaseLost {
					if !fault.Is(err, fault.LeaseLost) {
						t.Errorf("%v; want that the lease is lost", err)
					}
					return
				}
				if err != nil || string(got.Data) != `"first"` {
					t.Errorf("%s: %v", got.Data, err)
				}
			})
		})
	}
}
