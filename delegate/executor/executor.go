// Package executor is the contract of a task kind on a delegate: a function
// from an assignment to a result, and what the agent gives it besides.
//
// It holds no executor, and no loop but that of watchers which look again and
// again: the kinds are the folders beside it, listed by package delegate;
// claiming, leases and reporting are delegate/agent's.
package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Executor does one task. The assignment's payload has its secrets in place.
//
// When ctx ends, context.Cause(ctx) is one of this package's errors; the
// executor then stops everything that it started, child processes included,
// and returns. What it returns is overridden by the cause unless it Succeeded.
//
// A result says how the work ended. An error means that it couldn't be done
// or its end isn't known; it becomes task.Errored with the failure types of
// fault.Failures.
type Executor func(ctx context.Context, a task.Assignment, env Env) (task.Result, error)

// The causes for which the agent ends a task's context.
var (
	// ErrCancelled: the execution was aborted, or the step isn't wanted any more.
	ErrCancelled = errors.New("the task was cancelled")
	// ErrLeaseLost: the control plane has given the task up; nobody reads its result.
	ErrLeaseLost = errors.New("the lease of the task was lost")
	// ErrDraining: the delegate stops and its grace period is over.
	ErrDraining = errors.New("the delegate stopped before the task ended")
	// ErrTimeout: the task's time is up.
	ErrTimeout = errors.New("the task timed out")
)

// Level is the level of a log line.
type Level = logstream.Level

// The levels.
const (
	Info  = logstream.Info
	Error = logstream.Error
)

// Env is what an executor has besides its assignment. Its functions may be
// called from several goroutines.
type Env struct {
	// Writer opens the log of a command unit (a section of the step's log) at a
	// level. What is written is masked, cut into lines and sent on; it costs
	// nothing until its first use.
	Writer func(unit string, level Level) io.Writer
	// Resolve has the control plane resolve the expressions of texts by name.
	// Secrets are in their place in the answer and are masked from now on.
	Resolve func(ctx context.Context, texts map[string]string) (map[string]string, error)
	// Files gives files of the file store: one, or all of a folder, by a path
	// as documents have it.
	Files func(ctx context.Context, path string) ([]task.StoredFile, error)
	// Checkpoint keeps what is there before the executor changes it, for the
	// rollback of its stage, and gives the one that the stage has of the key: that
	// of an earlier attempt, if there was one. It is durable when it returns.
	Checkpoint func(ctx context.Context, key string, data any) (task.Checkpoint, error)
	// Checkpoints are those of the task's stage, the newest first.
	Checkpoints func(ctx context.Context) ([]task.Checkpoint, error)
	// Provision says what the task's execution does by its provisioner: that it is
	// about to change something, with what is there, before it does, and what it has
	// applied. It gives what is kept, which is what was there before the
	// execution's first change. It is durable when it returns.
	Provision func(ctx context.Context, status provision.Status, data any) (provision.Done, error)
	// Provisions are what was done by the task's provisioner before.
	Provisions func(ctx context.Context) (provision.Known, error)
	// Alone asks to be the only task that works by the task's provisioner, from now
	// on until it ends. It gives the execution that does; empty: this one.
	Alone func(ctx context.Context) (holder string, err error)
	// Errand asks the control plane about the applications that the task is about.
	Errand func(ctx context.Context, q errand.Ask) (errand.Answer, error)
	// Hidden says whether a text has a value in it that is masked.
	Hidden func(text string) bool
	// Mask hides values that turned out to be secret from later log lines and
	// from the result's message and outputs.
	Mask func(values ...string)
	// Linger has something go on after the task has succeeded, whose log stays open
	// until it returns. Its ctx ends when nobody takes the log any more, because the
	// delegate stops for instance; of a task that hasn't succeeded at once.
	Linger func(last func(ctx context.Context))
	// Dir is the task's scratch directory, made at the first call and removed
	// when the executor has returned.
	Dir func() (string, error)
}

// Log is a command unit's log at level INFO.
func (e Env) Log(unit string) io.Writer { return e.Writer(unit, Info) }

// LogError is a command unit's log at level ERROR.
func (e Env) LogError(unit string) io.Writer { return e.Writer(unit, Error) }

// Payload decodes an assignment's payload as one of pkg/task's types.
func Payload[T any](a task.Assignment) (T, error) {
	var p T
	if err := json.Unmarshal(a.Payload, &p); err != nil {
		return p, fault.New(fault.Invalid, "the payload of a %s task: %w", a.Kind, err)
	}
	return p, nil
}

// Work decodes the payload of a task that puts something somewhere, and its
// spec as one of pkg/task's types.
func Work[Spec any](a task.Assignment) (task.Work, Spec, error) {
	var spec Spec
	w, err := Payload[task.Work](a)
	if err != nil {
		return w, spec, err
	}
	if err := json.Unmarshal(w.Spec, &spec); err != nil {
		return w, spec, fault.New(fault.Invalid, "the spec of a %s task: %w", a.Kind, err)
	}
	return w, spec, nil
}

// Place decodes the place of a Work or of a watch as one of pkg/task's types.
func Place[P any](kind task.Kind, doc json.RawMessage) (P, error) {
	var place P
	if err := json.Unmarshal(doc, &place); err != nil {
		return place, fault.New(fault.Invalid, "the place of a %s task: %w", kind, err)
	}
	return place, nil
}

// Succeed is the result of a task that did what it should: outputs are what
// expressions read below the step's "output", changes what it left in the
// target.
func Succeed(outputs any, changes ...task.Change) (task.Result, error) {
	doc, err := json.Marshal(map[string]any{"output": outputs})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
	}
	return task.Result{Status: task.Succeeded, Outputs: doc, Changes: changes}, nil
}

// Refusal tells a refusal of the target (an error with a code) from the other
// errors: it is a failure that keeps the outputs and changes of r, because how
// the work ended is known. It is nil if err is no refusal, or if the task was
// ended from outside.
func Refusal(ctx context.Context, r task.Result, err error) *task.Result {
	var known *fault.Error
	if context.Cause(ctx) != nil || !errors.As(err, &known) {
		return nil
	}
	r.Status, r.Message, r.FailureTypes = task.Failed, err.Error(), fault.Failures(err)
	return &r
}

// Fail is the result of a task whose target said no.
func Fail(types []fault.FailureType, format string, args ...any) task.Result {
	return task.Result{Status: task.Failed, Message: fmt.Sprintf(format, args...), FailureTypes: types}
}
