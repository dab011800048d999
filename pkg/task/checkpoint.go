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
