package asl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Errors that the engine itself gives, by the names that AWS has for them.
const (
	errALL        = "States.ALL"
	errRuntime    = "States.Runtime"
	errTimeout    = "States.Timeout"
	errHeartbeat  = "States.HeartbeatTimeout"
	errTaskFailed = "States.TaskFailed"
	errDataLimit  = "States.DataLimitExceeded"
	errResultPath = "States.ResultPathMatchFailure"
	errNoChoice   = "States.NoChoiceMatched"
	errIntrinsic  = "States.IntrinsicFailure"
	errExit       = "Runtime.ExitError"
	errTimedout   = "Sandbox.Timedout"
	errLambda     = "Lambda.Unknown"
)

// invocation is one call of a function for a thread's wait.
type invocation struct {
	thread  *thread
	seq     int64 // of the wait
	over    atomic.Bool
	state   string
	fn      Handler
	payload json.RawMessage
	limit   time.Duration
	free    func() // gives the slot back
}

// invoke calls a function and moves the thread on by its answer, unless
// something else has by then: the token's answer, a time-out, a stop.
func (t *thread) invoke(seq int64) {
	e := t.run.engine
	who := ""
	if e.Whose != nil {
		who = e.Whose(t.run.name)
	}
	free, closed := e.slots.Enter(e.ctx, who)
	if closed != nil {
		e.work.Done()
		return
	}
	i := &invocation{thread: t, seq: seq, free: free}
	due, f := i.prepare()
	if !due {
		i.leave()
		return
	}
	if f != nil {
		i.settle(nil, f)
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, i.limit)
	defer cancel()
	stop := context.AfterFunc(ctx, i.overdue)
	answer, err := i.call(ctx)
	stop()
	if i.over.CompareAndSwap(false, true) {
		i.settle(answer, err)
	}
}

// prepare readies a call when it has its slot. By then the wait may be over:
// nothing is called for one that is.
func (i *invocation) prepare() (due bool, f *Failure) {
	t := i.thread
	e := t.run.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || t.seq != i.seq {
		return false, nil
	}
	i.state, i.limit = t.state, e.CallTimeout
	if t.wait == waitTask && !t.deadline.IsZero() {
		i.limit = min(i.limit, t.timeLeft())
	}
	if i.limit <= 0 {
		return false, nil // its timer ends it
	}
	params, f := t.parameters(t.token())
	if f != nil {
		return true, f
	}
	name, _ := params["FunctionName"].(string)
	if i.fn = e.Functions[last(name)]; i.fn == nil {
		return true, &Failure{Name: "Lambda.ResourceNotFoundException", Cause: fmt.Sprintf("there is no function %q", name)}
	}
	i.payload, f = payload(params["Payload"])
	return true, f
}

// payload is what a function is given: a text is taken for JSON as it is, and
// nothing for an empty object.
func payload(v any) (json.RawMessage, *Failure) {
	switch v := v.(type) {
	case nil:
		return json.RawMessage(`{}`), nil
	case string:
		if !json.Valid([]byte(v)) {
			return nil, &Failure{Name: "Lambda.InvalidRequestContentException", Cause: "Could not parse request body into json"}
		}
		return json.RawMessage(v), nil
	}
	return encode(v), nil
}

// call calls the function. One that panics fails alone, as a process that
// exits does on AWS.
func (i *invocation) call(ctx context.Context) (answer any, f *Failure) {
	defer func() {
		if p := recover(); p != nil {
			e := i.thread.run.engine
			e.Log.ErrorContext(ctx, "a function panicked", "run", i.thread.run.name, "state", i.state, "panic", p, "stack", string(debug.Stack()))
			answer, f = nil, &Failure{Name: errExit, Cause: fmt.Sprintf("the function panicked: %v", p)}
		}
	}()
	data, err := i.fn(ctx, i.payload)
	if err != nil {
		if f := new(Failure); errors.As(err, &f) {
			return nil, f
		}
		return nil, &Failure{Name: errLambda, Cause: err.Error()}
	}
	if answer, err = decode(data); err != nil {
		return nil, &Failure{Name: errLambda, Cause: "the function's answer isn't JSON: " + err.Error()}
	}
	return answer, nil
}

// overdue ends a call whose time is up: its slot is free again, whether the
// function heeds its context or not.
func (i *invocation) overdue() {
	e := i.thread.run.engine
	if e.ctx.Err() != nil || !i.over.CompareAndSwap(false, true) {
		return // Close waits for it; or it has just ended
	}
	e.Log.WarnContext(e.ctx, "a function took too long", "run", i.thread.run.name, "state", i.state, "limit", i.limit)
	i.settle(nil, &Failure{Name: errTimedout, Cause: fmt.Sprintf("the function took longer than %s", i.limit)})
}

// settle gives the slot back and moves the thread on.
func (i *invocation) settle(answer any, f *Failure) {
	t := i.thread
	e := t.run.engine
	defer e.work.Done()
	i.free()
	if e.ctx.Err() != nil && f != nil {
		return // cut off by Close: invoked again after the next Open
	}
	err := e.change(e.ctx, func() (*change, error) {
		if t.seq != i.seq || f == nil && t.wait == waitToken {
			return nil, nil
		}
		c := t.run.changed()
		switch {
		case f == nil:
			t.answered("lambda", map[string]any{"ExecutedVersion": "$LATEST", "Payload": answer, "StatusCode": json.Number("200")})
		case f.Name == errTimedout && t.wait == waitTask && t.expired():
			t.recover(&Failure{Name: errTimeout}) // the state's own time was the shorter one
		default:
			t.recover(f)
		}
		return c, nil
	})
	if err != nil && !errors.Is(err, errClosed) {
		e.Log.ErrorContext(e.ctx, "a function's answer was lost", "run", t.run.name, "error", err)
	}
}

// leave gives the slot back; nothing was called.
func (i *invocation) leave() {
	i.free()
	i.thread.run.engine.work.Done()
}

// answered ends a task with a result, which has a limit.
func (t *thread) answered(service string, result any) {
	if f := tooLarge(result, service); f != nil {
		t.recover(f)
		return
	}
	t.complete(result)
}
