package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/session"
	"github.com/slipway-cd/slipway/pkg/task"
)

// settled is how long a program must run that is to go on in the background.
const settled = time.Second

// stopping is how long a program in the background has to end with its session before
// it is killed, in seconds.
const stopping = 10

// backgrounds is the folder of a session that says which steps' programs go on in the
// background: a file for each, by the step's name in the session.
const backgrounds = "background"

// Begin begins a command that goes on until its session ends, under a name by which
// Ended tells of it. It gives nil once the command has run for a moment, or how it has
// ended before; what it has written by then is in its log. As Run, it finds what the
// same attempt has begun.
func (s *Sessions) Begin(ctx context.Context, id string, a task.Assignment, name string, c Command) (*session.Exit, error) {
	start, err := s.start(id, a, c)
	if err != nil {
		return nil, err
	}
	start.Interrupt, start.Grace = false, stopping
	r := s.run(id, a, c)
	if err := s.note(id, r.step, name); err != nil {
		return nil, err
	}
	if err := r.begin(ctx, start); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), executor.ErrLeaseLost) { // it may be another delegate's by now
			return
		}
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), answered)
		defer stop()
		_ = r.client.Cancel(late, r.step, r.attempt, session.Stop{Fence: r.fence}) // the session's end ends it else
	})()
	exit, err := r.settle(ctx, c)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case fault.Is(err, fault.Unavailable):
		return nil, Gone(id, err)
	}
	return exit, err
}

// settle follows an attempt until it has run for a moment, or has ended.
func (r run) settle(ctx context.Context, c Command) (*session.Exit, error) {
	state, err := r.client.State(ctx, r.step, r.attempt, 0, 0)
	for err == nil && state.Phase == session.Waiting && ctx.Err() == nil {
		state, err = r.client.State(ctx, r.step, r.attempt, state.Version, answered)
	}
	for offset, began := int64(0), time.Now(); err == nil; {
		var part session.Log
		if part, err = r.client.Log(ctx, r.step, r.attempt, offset, settled-time.Since(began)); err != nil {
			break
		}
		if err = c.log(part); err != nil {
			break
		}
		offset = part.Next
		switch {
		case part.Ended:
			state, err = r.client.State(ctx, r.step, r.attempt, 0, 0)
			return state.Exit, err
		case time.Since(began) >= settled:
			return nil, nil //nolint:nilnil // it goes on
		}
	}
	return nil, err
}

// note notes the name of a step whose program goes on in the background.
func (s *Sessions) note(id, step, name string) error {
	dir := filepath.Join(s.dir(id), backgrounds)
	doc, err := json.Marshal(name)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, step), doc, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note the program of step %s: %w", name, err)
	}
	return nil
}

// Ended is how a program has ended that was to go on in the background.
type Ended struct {
	Name  string
	Exit  session.Exit
	After time.Duration
}

// Ended tells which programs of a session don't run in the background any more, though
// they were to, and haven't ended well. What can't be told isn't.
func (s *Sessions) Ended(ctx context.Context, id string) []Ended {
	info, err := s.Client(id).Info(ctx)
	if err != nil {
		return nil
	}
	newest := map[string]session.Run{}
	for _, one := range info.Steps {
		if was, ok := newest[one.Step]; !ok || was.Attempt < one.Attempt {
			newest[one.Step] = one
		}
	}
	var out []Ended
	entries, _ := os.ReadDir(filepath.Join(s.dir(id), backgrounds)) // none has begun
	for _, e := range entries {
		one, ok := newest[e.Name()]
		if !ok || one.State.Exit == nil || one.State.Exit.Code == 0 {
			continue
		}
		ended := Ended{Exit: *one.State.Exit, After: one.State.Ended.Sub(one.State.Started)}
		doc, err := os.ReadFile(filepath.Join(s.dir(id), backgrounds, e.Name()))
		if err == nil && json.Unmarshal(doc, &ended.Name) == nil {
			out = append(out, ended)
		}
	}
	return out
}
