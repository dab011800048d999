package protocol

import (
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/task"
)

// LogBatch carries log chunks of a running task.
type LogBatch struct {
	Fence  int64    `json:"fence"`
	First  int64    `json:"first"`  // number of the first chunk
	Chunks [][]byte `json:"chunks"` // whole lines, see pkg/logstream
}

// Resolve asks the control plane to resolve the expressions of texts that
// only the delegate has, such as values files (semantics/kubernetes §4.1).
type Resolve struct {
	Fence int64             `json:"fence"`
	Texts map[string]string `json:"texts"` // name -> text
}

// Resolved answers Resolve. Secrets are placeholders in the texts, with their
// values beside them.
type Resolved struct {
	Texts       map[string]string             `json:"texts"`
	Secrets     map[string]string             `json:"secrets,omitempty"`
	LateSecrets map[string]task.LateSecret    `json:"lateSecrets,omitempty"` // as in Assignment
	LateTexts   map[string]task.LateText      `json:"lateTexts,omitempty"`
	Tokens      map[string]task.IdentityToken `json:"tokens,omitempty"`
}

// ReadFiles asks for files of the file store, in the scope of the execution
// whose task the delegate holds.
type ReadFiles struct {
	Fence int64  `json:"fence"`
	Path  string `json:"path"`            // a file or a folder, as written
	After string `json:"after,omitempty"` // Next of the answer before
}

// FilesRead answers ReadFiles.
type FilesRead struct {
	Files []task.StoredFile `json:"files" nullable:"false"`
	Next  string            `json:"next,omitempty"` // there are more
}

// FreshToken asks for another token of a held task, under the name that the
// first one has in Assignment.Tokens.
type FreshToken struct {
	Fence    int64  `json:"fence"`
	Identity string `json:"identity"`
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
	Checkpoints []task.Checkpoint `json:"checkpoints" nullable:"false"`
}

// Report posts a result.
type Report struct {
	Fence  int64       `json:"fence"`
	Result task.Result `json:"result"`
}
