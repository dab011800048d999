package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/identity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// running is a task that the agent holds, from its claim until its result has
// arrived.
type running struct {
	task.Assignment
	ctx    context.Context //nolint:containedctx // a task is what the context belongs to
	cancel context.CancelCauseFunc
	until  time.Time // end of the lease, as far as this side knows; under Agent.mu
	mark   string    // of all that it starts, see delegate/watchdog
	// release has the watchdog forget the task.
	release func()
}

func newRunning(ctx context.Context, t task.Assignment, at time.Time) *running {
	ctx, cancel := context.WithCancelCause(ctx)
	if t.Lease <= 0 {
		t.Lease = time.Minute // a lease that has ended at once couldn't be kept
	}
	return &running{Assignment: t, ctx: ctx, cancel: cancel, until: at.Add(t.Lease)}
}

// run does a claimed task and reports its result.
func (a *Agent) run(r *running) {
	defer a.ended(r)
	log := a.Log.With("execution", r.Execution, "node", r.Node, "attempt", r.Attempt, "task", r.ID)
	log.DebugContext(r.ctx, "task begins", "kind", r.Kind)
	result := a.perform(r)
	if errors.Is(context.Cause(r.ctx), executor.ErrLeaseLost) {
		log.WarnContext(r.ctx, "task was stopped: its lease is lost")
		return
	}
	err := a.report(r, result)
	switch {
	case fault.Is(err, fault.LeaseLost):
		a.settled(r)
		log.InfoContext(r.ctx, "nobody waits for the task's result any more", "status", result.Status)
		return
	case err != nil:
		log.WarnContext(r.ctx, "the task's result can't be reported", "status", result.Status, "error", err)
		return
	}
	a.settled(r)
	signal(a.over)
	if len(result.Changes) > 0 {
		signal(a.look)
	}
	log.DebugContext(r.ctx, "task has ended", "status", result.Status)
}

// perform does the task with everything that it needs around it.
func (a *Agent) perform(r *running) task.Result {
	do := a.Kinds[r.Kind].Do
	if do == nil {
		return failed(fault.New(fault.Unsupported, "delegate %s can't run tasks of kind %q", a.Name, r.Kind))
	}
	if err := a.note(r); err != nil {
		return failed(err)
	}
	ctx := r.ctx
	if r.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, r.Timeout, executor.ErrTimeout)
		defer stop()
	}
	env := newEnvironment(a, r)
	result, err := env.execute(identity.With(ctx, env.tokens.get), do)
	result = settle(result, err, context.Cause(ctx))
	env.leave(result.Status == task.Succeeded)
	return env.hide(result)
}

// execute runs the executor with the task's secrets in their places.
func (e *environment) execute(ctx context.Context, execute executor.Executor) (task.Result, error) {
	secrets, err := e.withLate(ctx, e.task.Secrets, e.task.LateSecrets)
	if err != nil {
		return task.Result{}, err
	}
	if secrets, err = e.withTexts(ctx, secrets, e.task.LateTexts); err != nil {
		return task.Result{}, err
	}
	assignment := e.task.Assignment
	if assignment.Payload, err = reveal(assignment.Payload, secrets); err != nil {
		return task.Result{}, err
	}
	assignment.Secrets, assignment.LateSecrets, assignment.LateTexts, assignment.Tokens = nil, nil, nil, nil
	return guarded(ctx, execute, assignment, e.env())
}

// guarded turns an executor's panic into its error: one bad task must not end
// the others.
func guarded(ctx context.Context, execute executor.Executor, t task.Assignment, env executor.Env) (r task.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the executor of %s tasks broke: %v\n%s", t.Kind, p, debug.Stack())
		}
	}()
	return execute(ctx, t, env)
}

// settle makes the task's result from what the executor gave and from the
// cause for which it was stopped, if it was. Work that succeeded has
// succeeded, whatever came too late to stop it.
func settle(r task.Result, err, cause error) task.Result {
	if err == nil && r.Status == task.Succeeded {
		return r
	}
	switch {
	case errors.Is(cause, executor.ErrCancelled):
		r.Status, r.Message, r.FailureTypes = task.Aborted, cause.Error(), nil
	case errors.Is(cause, executor.ErrDraining):
		r.Status, r.Message, r.FailureTypes = task.Errored, cause.Error(), []fault.FailureType{fault.DelegateRestart}
	case errors.Is(cause, executor.ErrTimeout):
		r.Status, r.Message, r.FailureTypes = task.Failed, cause.Error(), []fault.FailureType{fault.Timeout}
		if errors.Is(err, cause) { // it says what the time was too short for
			r.Message = err.Error()
		}
	case err != nil:
		broken := failed(err)
		r.Status, r.Message, r.FailureTypes = broken.Status, broken.Message, broken.FailureTypes
	}
	return r
}

// failed is the result of a task that couldn't be done.
func failed(err error) task.Result {
	return task.Result{Status: task.Errored, Message: err.Error(), FailureTypes: fault.Failures(err)}
}

// scratch makes a task's directory at the first call.
func (a *Agent) scratch() (make func() (string, error), remove func() error) {
	var dir string
	make = sync.OnceValues(func() (string, error) {
		d, err := os.MkdirTemp(a.Scratch, "slipway-task-")
		if err != nil {
			return "", fault.New(fault.Unavailable, "make a scratch directory: %w", err)
		}
		dir = d
		return d, nil
	})
	return make, func() error {
		if dir == "" {
			return nil
		}
		return os.RemoveAll(dir)
	}
}
