package execution

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// KeepCheckpoint keeps what a task that puts something somewhere has found
// before it changes it, and gives the first that its stage has of the key.
func (s *Tasks) KeepCheckpoint(ctx context.Context, d store.Delegate, id task.ID, k protocol.KeepCheckpoint) (task.Checkpoint, error) {
	switch {
	case k.Key == "" || len(k.Key) > task.MaxCheckpointKey:
		return task.Checkpoint{}, fault.New(fault.Invalid, "the key of a checkpoint has %d bytes; want 1 to %d", len(k.Key), task.MaxCheckpointKey)
	case len(k.Data) > task.MaxCheckpoint:
		return task.Checkpoint{}, fault.New(fault.TooLarge, "the checkpoint %s has %d bytes; the limit is %d", k.Key, len(k.Data), task.MaxCheckpoint)
	}
	t, w, err := s.work(ctx, d, id, k.Fence)
	if err != nil {
		return task.Checkpoint{}, err
	}
	c := store.Checkpoint{Execution: w.Execution, Stage: plan.NodeID(w.Stage), Key: k.Key, Step: plan.NodeID(w.Step), Task: t.ID, At: s.Now()}
	if c.Data, err = s.Secret.Seal(ctx, sealOf(t.Scope, c), k.Data); err != nil {
		return task.Checkpoint{}, err
	}
	kept, err := s.Store.KeepCheckpoint(ctx, c, d.ID, k.Fence, task.MaxCheckpoints)
	if err != nil {
		return task.Checkpoint{}, err
	}
	if bytes.Equal(kept.Data, c.Data) { // it is the first, so what was sealed needn't be opened
		return task.Checkpoint{Key: kept.Key, Step: string(kept.Step), At: kept.At, Data: k.Data}, nil
	}
	return s.openCheckpoint(ctx, t.Scope, kept)
}

// Checkpoints are those of a task's stage, the newest first: for a task that
// rolls back an execution which has succeeded, those of that one.
func (s *Tasks) Checkpoints(ctx context.Context, d store.Delegate, id task.ID, fence int64) ([]task.Checkpoint, error) {
	t, w, err := s.work(ctx, d, id, fence)
	if err != nil {
		return nil, err
	}
	kept, err := s.Store.ListCheckpoints(ctx, w.Execution, plan.NodeID(w.Stage))
	if err != nil {
		return nil, err
	}
	out := make([]task.Checkpoint, len(kept))
	for i, c := range kept {
		if out[i], err = s.openCheckpoint(ctx, t.Scope, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Work is a task that a delegate holds, with its payload.
func (s *Tasks) Work(ctx context.Context, d store.Delegate, id task.ID, fence int64) (store.Task, task.Work, error) {
	return s.work(ctx, d, id, fence)
}

// work is what a task that a delegate holds puts where. Of which stage of which
// execution it is, the payload says that was made here, not the delegate.
func (s *Tasks) work(ctx context.Context, d store.Delegate, id task.ID, fence int64) (store.Task, task.Work, error) {
	var w task.Work
	t, err := s.held(ctx, d, id, fence)
	if err != nil {
		return t, w, err
	}
	if err := json.Unmarshal(t.Payload, &w); err != nil || w.Execution == "" || w.Stage == "" || w.Step == "" {
		return t, w, fault.New(fault.Invalid, "task %s puts nothing anywhere, so it has no checkpoints", id)
	}
	return t, w, nil
}

// sealOf is what the data of a checkpoint is bound to: in another stage or
// under another key it can't be opened.
func sealOf(scope ref.Scope, c store.Checkpoint) store.EntityKey {
	return store.EntityKey{Scope: scope, Kind: "checkpoint", Env: strings.Join([]string{c.Execution, string(c.Stage)}, "\x00"), ID: c.Key}
}

func (s *Tasks) openCheckpoint(ctx context.Context, scope ref.Scope, c store.Checkpoint) (task.Checkpoint, error) {
	data, err := s.Secret.Open(ctx, sealOf(scope, c), c.Data)
	if err != nil {
		return task.Checkpoint{}, fmt.Errorf("open the checkpoint %s: %w", c.Key, err)
	}
	return task.Checkpoint{Key: c.Key, Step: string(c.Step), At: c.At, Data: data}, nil
}
