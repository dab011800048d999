package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// checkpoint keeps what is there before the task changes it.
func (e *environment) checkpoint(ctx context.Context, key string, data any) (task.Checkpoint, error) {
	doc, err := json.Marshal(data)
	if err != nil {
		return task.Checkpoint{}, fmt.Errorf("encode what %s is before the change: %w", key, err)
	}
	var kept task.Checkpoint
	err = e.insist(ctx, "checkpoint", protocol.KeepCheckpoint{Fence: e.task.Fence, Key: key, Data: doc}, &kept)
	return kept, err
}

// checkpoints are those of the task's stage, the newest first.
func (e *environment) checkpoints(ctx context.Context) ([]task.Checkpoint, error) {
	var read protocol.CheckpointsRead
	err := e.insist(ctx, "checkpoints", protocol.ReadCheckpoints{Fence: e.task.Fence}, &read)
	return read.Checkpoints, err
}

// insist asks the control plane about the task until it answers. Nothing is
// changed before it has.
func (e *environment) insist(ctx context.Context, what string, question, answer any) error {
	for failures := 0; ; failures++ {
		err := e.agent.api.post(ctx, e.agent.taskPath(e.task.ID, what), question, answer)
		switch {
		case err == nil:
			return nil
		case fault.Is(err, fault.LeaseLost):
			e.task.cancel(executor.ErrLeaseLost)
			return err
		case !fault.Passing(err) || within(ctx.Done(), backOff(failures)):
			return err
		}
	}
}
