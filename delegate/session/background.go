package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
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

// Beside is a program that was begun to go on until its session ends.
type Beside struct {
	// Exit is how it has ended within a moment; nil: it goes on, and somebody must
	// Follow it.
	Exit *session.Exit

	run    run
	next   int64 // of its log
	closed atomic.Bool
	done   chan struct{}
}

// Closed says whether it ends, or has ended, because its session does.
func (b *Beside) Closed() bool { return b.closed.Load() }

// Begin begins a command that goes on until its session ends, under a name by which
// Ended tells of it. It returns once the command has run for a moment, or has ended
// before; what it has written by then is in its log. As Run, it finds what the same
// attempt has begun.
func (s *Sessions) Begin(ctx context.Context, id string, a task.Assignment, name string, c Command) (*Beside, error) {
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
	b := &Beside{run: r, done: make(chan struct{})}
	err = b.settle(ctx, c)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case fault.Is(err, fault.Unavailable):
		return nil, Gone(id, err)
	case err != nil:
		return nil, err
	}
	if b.Exit == nil {
		s.mu.Lock()
		s.beside[id] = append(s.beside[id], b)
		s.mu.Unlock()
	}
	return b, nil
}

// Follow writes the rest of a program's log until it has ended, with or before its
// session, and tells how.
func (b *Beside) Follow(ctx context.Context, c Command, tell func(session.State, error)) {
	defer close(b.done)
	tell(b.run.client.Follow(ctx, b.run.step, b.run.attempt, b.next, c.log))
}

// endBeside ends the programs in the background of a session that is about to end,
// and waits until their last words are written, if somebody follows them here.
func (s *Sessions) endBeside(ctx context.Context, id string) {
	s.mu.Lock()
	all := s.beside[id]
	delete(s.beside, id)
	s.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, (stopping+5)*time.Second)
	defer stop()
	for _, b := range all {
		b.closed.Store(true)
		_ = b.run.client.Cancel(ctx, b.run.step, b.run.attempt, session.Stop{Fence: newest}) // the session's end ends it else
	}
	for _, b := range all {
		select {
		case <-b.done:
		case <-ctx.Done():
		}
	}
}

// settle follows an attempt until it has run for a moment, or has ended.
func (b *Beside) settle(ctx context.Context, c Command) error {
	r := b.run
	state, err := r.client.State(ctx, r.step, r.attempt, 0, 0)
	for err == nil && state.Phase == session.Waiting && ctx.Err() == nil {
		state, err = r.client.State(ctx, r.step, r.attempt, state.Version, answered)
	}
	for began := time.Now(); err == nil; {
		var part session.Log
		if part, err = r.client.Log(ctx, r.step, r.attempt, b.next, settled-time.Since(began)); err != nil {
			break
		}
		if err = c.log(part); err != nil {
			break
		}
		b.next = part.Next
		switch {
		case part.Ended:
			state, err = r.client.State(ctx, r.step, r.attempt, 0, 0)
			b.Exit = state.Exit
			return err
		case time.Since(began) >= settled:
			return nil // it goes on
		}
	}
	return err
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
