package task

import (
	"encoding/json"
	"time"
)

// The bounds of checkpoints, in bytes.
const (
	// MaxCheckpoint bounds one's data. It is reduced to what a call that puts it
	// back takes.
	MaxCheckpoint = 256 << 10
	// MaxCheckpoints bounds those of a stage together, each with CheckpointCost
	// besides its key and its data.
	MaxCheckpoints = 3 << 20
	CheckpointCost = 256
	// MaxCheckpointKey bounds a key: a resource's ARN, and what of it.
	MaxCheckpointKey = 1000
)

// Checkpoint is what a step found before it changed it: what its stage's
// rollback puts back. It is kept before the first change, and who keeps it first
// keeps it for the whole stage, so that a step that is tried again can't take a
// half-made change for what was there.
type Checkpoint struct {
	Key  string          `json:"key"`  // of the resource, e.g. its ARN; a stage has one of each
	Step string          `json:"step"` // the id of the node that kept it
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

// KeepCheckpoint keeps a checkpoint before a change. It is answered by the
// Checkpoint that the stage has: another, if somebody was first.
type KeepCheckpoint struct {
	Fence int64           `json:"fence"`
	Key   string          `json:"key" minLength:"1" maxLength:"1000"`
	Data  json.RawMessage `json:"data"`
}

// ReadCheckpoints asks for the checkpoints of a task's stage.
type ReadCheckpoints struct {
	Fence int64 `json:"fence"`
}

// CheckpointsRead answers ReadCheckpoints, the newest first.
type CheckpointsRead struct {
	Checkpoints []Checkpoint `json:"checkpoints" nullable:"false"`
}
