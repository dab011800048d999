package asl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// StartExecution starts a run. A name belongs to one run: the same name and
// input again is no change while that run is under way, and anything else is
// ErrExecutionAlreadyExists, for as long as the run is kept.
func (e *Engine) StartExecution(ctx context.Context, machine, name string, input json.RawMessage) error {
	m := e.Machines[machine]
	if m == nil {
		return fmt.Errorf("%w: %q", ErrStateMachineUnknown, machine)
	}
	data, err := decode(input)
	if err != nil {
		return fmt.Errorf("%w: that of run %s isn't JSON: %w", ErrInvalidExecutionInput, name, err)
	}
	if len(input) > maxData {
		return fmt.Errorf("%w: that of run %s has %d bytes, more than %d", ErrInvalidExecutionInput, name, len(input), maxData)
	}
	known, release, err := e.claim(ctx, name)
	if err != nil {
		return err
	}
	if known != nil {
		return e.again(ctx, known, data)
	}
	defer release()
	switch x, err := e.DescribeExecution(ctx, name); {
	case err == nil && x.Status == statusRunning && bytes.Equal(x.Input, encode(data)):
		return nil // it goes on when Resume is called
	case err == nil:
		return fmt.Errorf("%w: %s", ErrExecutionAlreadyExists, name)
	case !errors.Is(err, ErrExecutionDoesNotExist):
		return err
	}
	return e.change(ctx, func() (*change, error) {
		r := e.newRun(name, m, data, "")
		c := r.changed()
		r.root.enter(m.states.StartAt, data)
		return c, nil
	})
}

// claim finds the run of a name in memory, or keeps the name for the caller
// alone until it is released. Whoever comes meanwhile waits, so nobody can
// start a run of that name, and end it, between a look at the disk and what
// follows from it.
func (e *Engine) claim(ctx context.Context, name string) (known *run, release func(), err error) {
	for {
		e.mu.Lock()
		known = e.known(name)
		busy := e.starting[name]
		if known != nil || busy == nil {
			break
		}
		e.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	defer e.mu.Unlock()
	if known != nil {
		return known, nil, nil
	}
	mine := make(chan struct{})
	e.starting[name] = mine
	return nil, func() {
		e.mu.Lock()
		delete(e.starting, name)
		e.mu.Unlock()
		close(mine)
	}, nil
}

// known is the run of a name that is under way, or whose end isn't on disk.
// The engine is locked.
func (e *Engine) known(name string) *run {
	if r := e.runs[name]; r != nil {
		return r
	}
	return e.ended[name]
}

// again answers a start of a name that is known already. It returns when the
// run's own start is on disk.
func (e *Engine) again(ctx context.Context, known *run, input any) error {
	e.mu.Lock()
	same := known.status == statusRunning && bytes.Equal(encode(known.input), encode(input))
	e.mu.Unlock()
	if !same {
		return fmt.Errorf("%w: %s", ErrExecutionAlreadyExists, known.name)
	}
	return e.DB.Write(ctx, func(*sqlitedb.Tx) error { return nil }) // commits are in order
}

// taken says whether there is or was a run of the name. The engine is locked.
func (e *Engine) taken(name string) (bool, error) {
	if e.known(name) != nil || e.starting[name] != nil {
		return true, nil
	}
	var n int
	err := e.DB.ReadSoon(e.ctx, func(tx *sqlitedb.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM asl_runs WHERE name = ?`, name).Scan(&n)
	})
	return n > 0, err
}
