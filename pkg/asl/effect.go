package asl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// begin lets the effect of a changed thread happen. The engine is locked.
func (t *thread) begin() {
	e := t.run.engine
	if e.closed {
		return
	}
	t.lastBeat = e.now()
	switch t.wait {
	case waitTask, waitToken:
		e.work.Add(1)
		go t.invoke(t.seq)
		t.arm()
	case waitTimer, waitRetry, waitChild:
		t.arm()
	case waitPending, waitBranches, waitEnded:
	}
}

// nest starts the nested run of a startExecution task, in the same commit as
// the task itself.
func (t *thread) nest() *Failure {
	e := t.run.engine
	v, f := t.parameters("")
	if f != nil {
		return f
	}
	params, _ := v.(map[string]any)
	arn, _ := params["StateMachineArn"].(string)
	name, _ := params["Name"].(string)
	m := e.Machines[last(arn)]
	if m == nil || name == "" {
		return &Failure{Name: "StepFunctions.StateMachineDoesNotExistException", Cause: fmt.Sprintf("machine %q, name %q", arn, name)}
	}
	if taken, err := e.exists(name); err != nil || taken {
		return &Failure{Name: "StepFunctions.ExecutionAlreadyExistsException", Cause: fmt.Sprintf("run %s (%v)", name, err)}
	}
	input := params["Input"]
	if input == nil {
		input = map[string]any{}
	}
	r := e.newRun(name, m, input, t.token())
	t.child = r
	r.touched = t.run.changed().add(r)
	r.root.enter(m.states.StartAt, input)
	return nil
}

// last is the name at the end of an ARN.
func last(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }

// exists says whether there is or was a run of the name.
func (e *Engine) exists(name string) (bool, error) {
	if e.runs[name] != nil {
		return true, nil
	}
	var n int
	err := e.DB.Read(e.ctx, func(tx *sqlitedb.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM asl_runs WHERE name = ?`, name).Scan(&n)
	})
	return n > 0, err
}

// invoke calls a function and moves the thread on by its answer, unless
// something else has by then: the token's answer, a time-out, a stop.
func (t *thread) invoke(seq int64) {
	e := t.run.engine
	defer e.work.Done()
	select {
	case e.slots <- struct{}{}:
	case <-e.ctx.Done():
		return
	}
	result, f := t.call()
	<-e.slots
	if e.ctx.Err() != nil && f != nil {
		return // cut off by Close: invoked again after the next Open
	}
	err := e.change(e.ctx, func() (*change, error) {
		if t.seq != seq || f == nil && t.wait == waitToken {
			return nil, nil
		}
		c := t.run.changed()
		if f != nil {
			t.recover(f)
		} else {
			t.complete(result)
		}
		return c, nil
	})
	if err != nil && !errors.Is(err, errClosed) {
		e.Log.ErrorContext(e.ctx, "a function's answer was lost", "run", t.run.name, "error", err)
	}
}

// call calls the state's function.
func (t *thread) call() (any, *Failure) {
	e := t.run.engine
	e.mu.Lock()
	v, f := t.parameters(t.token())
	deadline, started, state := t.deadline, t.wait, t.state
	e.mu.Unlock()
	if f != nil {
		return nil, f
	}
	params, _ := v.(map[string]any)
	name, _ := params["FunctionName"].(string)
	fn := e.Functions[last(name)]
	if fn == nil {
		return nil, &Failure{Name: "Lambda.ResourceNotFoundException", Cause: fmt.Sprintf("there is no function %q", name)}
	}
	ctx, cancel := e.ctx, context.CancelFunc(func() {})
	if started == waitTask && !deadline.IsZero() {
		ctx, cancel = context.WithTimeout(e.ctx, deadline.Sub(e.now()))
	}
	defer cancel()
	answer, err := fn(ctx, encode(params["Payload"]))
	if err != nil {
		return nil, asFailure(ctx, state, err)
	}
	payload, err := decode(answer)
	if err != nil {
		return nil, &Failure{Name: "Lambda.Unknown", Cause: "the function's answer isn't JSON: " + err.Error()}
	}
	return map[string]any{"ExecutedVersion": "$LATEST", "Payload": payload, "StatusCode": json.Number("200")}, nil
}

func asFailure(ctx context.Context, state string, err error) *Failure {
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Failure{Name: "States.Timeout", Cause: state + " timed out"}
	}
	return &Failure{Name: "Lambda.Unknown", Cause: err.Error()}
}

// arm sets the timer for the earliest moment at which the wait may have to
// end by itself. The engine is locked.
func (t *thread) arm() {
	at := t.deadline
	if t.beat > 0 && t.wait == waitToken {
		if lost := t.lastBeat.Add(t.beat); at.IsZero() || lost.Before(at) {
			at = lost
		}
	}
	if at.IsZero() {
		return
	}
	seq := t.seq
	t.timer = time.AfterFunc(max(at.Sub(t.run.engine.now()), 0), func() { t.expire(seq) })
}

func (t *thread) stopTimer() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// expire ends a wait whose time is up, or sets its timer anew if a heartbeat
// has given it more.
func (t *thread) expire(seq int64) {
	e := t.run.engine
	err := e.change(e.ctx, func() (*change, error) {
		if t.seq != seq {
			return nil, nil
		}
		now := e.now()
		over := !t.deadline.IsZero() && !now.Before(t.deadline)
		silent := t.beat > 0 && t.wait == waitToken && !now.Before(t.lastBeat.Add(t.beat))
		if !over && !silent {
			t.arm()
			return nil, nil
		}
		c := t.run.changed()
		t.timeUp(over)
		return c, nil
	})
	if err != nil && !errors.Is(err, errClosed) {
		e.Log.ErrorContext(e.ctx, "a timer's end was lost", "run", t.run.name, "error", err)
	}
}

func (t *thread) timeUp(over bool) {
	switch t.wait {
	case waitTimer:
		t.complete(t.input)
	case waitRetry:
		t.plan(t.def())
	case waitTask, waitToken, waitChild:
		name := "States.Timeout"
		if !over {
			name = "States.HeartbeatTimeout"
		}
		t.run.dropped(t)
		t.recover(&Failure{Name: name, Cause: t.state + " timed out"})
	case waitPending, waitBranches, waitEnded:
	}
}
