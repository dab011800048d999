package manifest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Extractor runs scripts that bring files, each once for its task
// (semantics/entities §2.4).
type Extractor struct {
	script executor.Executor
	task   task.Assignment
	env    executor.Env
	done   map[task.Extraction]string // script -> its folder
}

// NewExtractor makes the Extractor of one task. What scripts say goes to a
// unit of the task's log.
func NewExtractor(script executor.Executor, a task.Assignment, env executor.Env, unit string) *Extractor {
	writer := env.Writer
	env.Writer = func(_ string, level executor.Level) io.Writer { return writer(unit, level) }
	return &Extractor{script: script, task: a, env: env, done: map[task.Extraction]string{}}
}

// Folder gives the folder in which a script ran.
func (e *Extractor) Folder(ctx context.Context, x task.Extraction) (string, error) {
	if e == nil {
		return "", fault.New(fault.Unsupported, "files can't be brought by a script here")
	}
	if dir, ok := e.done[x]; ok {
		return dir, nil
	}
	scratch, err := e.env.Dir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(scratch, "extracted-")
	if err != nil {
		return "", fmt.Errorf("make a folder for a script: %w", err)
	}
	a := e.task
	if a.Payload, err = json.Marshal(task.Shell{Shell: "Bash", Script: x.Script, WorkingDirectory: dir}); err != nil {
		return "", fmt.Errorf("encode a script: %w", err)
	}
	r, err := e.script(ctx, a, e.env)
	if err != nil {
		return "", err
	}
	if r.Status != task.Succeeded {
		return "", fault.New(fault.Conflict, "the script that brings %s: %s", x.Path, r.Message).Causing(r.FailureTypes...)
	}
	e.done[x] = dir
	return dir, nil
}
