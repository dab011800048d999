package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// checkpoints is store.Checkpoints.
type checkpoints struct{ table *table }

// errKept: the stage has a checkpoint of the key.
var errKept = errors.New("the checkpoint is there already")

// KeepCheckpoint stores the first checkpoint of a key of a stage.
func (s checkpoints) KeepCheckpoint(ctx context.Context, c store.Checkpoint, delegate string, fence, most int64) (store.Checkpoint, error) {
	if c.Size() > most {
		return store.Checkpoint{}, store.CheckpointsFull(c.Stage, most)
	}
	it := checkpointAt(c).item()
	it["key"], it["step"], it["task"], it["at"] = str(c.Key), str(string(c.Step)), str(string(c.Task)), num(c.At.UnixNano())
	var err error
	if it["data"], err = s.table.packed(ctx, c.Data, largestValue); err != nil {
		return store.Checkpoint{}, err
	}
	err = again(ctx, func() error {
		return s.table.transact(ctx,
			s.table.check(taskAt(c.Task), heldBy, holder(delegate, fence),
				fault.New(fault.LeaseLost, "task %q isn't delegate %q's with fence %d", c.Task, delegate, fence)),
			s.table.put(it, missing, nil, errKept),
			s.table.update(checkpointSizeAt(c), "SET #bytes = if_not_exists(#bytes, :none) + :size", "attribute_not_exists(#bytes) OR #bytes <= :room",
				item{":none": num(0), ":size": num(c.Size()), ":room": num(most - c.Size())}, store.CheckpointsFull(c.Stage, most)),
		)
	})
	switch {
	case err == nil:
		return c, nil
	case !errors.Is(err, errKept):
		return store.Checkpoint{}, fmt.Errorf("keep the checkpoint %s: %w", c.Key, err)
	}
	kept, err := s.table.find(ctx, checkpointAt(c), "a checkpoint %q", c.Key)
	if err != nil {
		return store.Checkpoint{}, err
	}
	return s.readCheckpoint(ctx, c.Execution, c.Stage, kept)
}

func (s checkpoints) readCheckpoint(ctx context.Context, execution string, stage plan.NodeID, it item) (store.Checkpoint, error) {
	data, err := s.table.unpacked(ctx, it, "data")
	return store.Checkpoint{
		Execution: execution, Stage: stage, Key: text(it, "key"), Step: plan.NodeID(text(it, "step")), Task: task.ID(text(it, "task")),
		At: time.Unix(0, number(it, "at")).UTC(), Data: data,
	}, err
}

// ListCheckpoints lists those of a stage, the newest first.
func (s checkpoints) ListCheckpoints(ctx context.Context, execution string, stage plan.NodeID) ([]store.Checkpoint, error) {
	found, err := s.table.query(ctx, query{pk: checkpointsPK(execution, stage), sk: "begins_with(sk, :c)", values: item{":c": str("c" + separator)}})
	if err != nil {
		return nil, err
	}
	out, err := decodeAll(ctx, s.table.bodies, found, func(ctx context.Context, b bodies, it item) (store.Checkpoint, error) {
		return s.readCheckpoint(ctx, execution, stage, it)
	})
	slices.SortStableFunc(out, func(a, b store.Checkpoint) int { return b.At.Compare(a.At) })
	return out, err
}
