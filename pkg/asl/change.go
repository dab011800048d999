package asl

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// change is what one edit has changed, on its way to its commit.
type change struct {
	runs    []*run
	moved   []*thread
	gone    []*thread // branches that are no more
	threads []*thread // whose effects begin after the commit
	seqs    []int64   // theirs
	stores  []func(*sqlitedb.Tx) error
}

// errLost is the error of a change to a run that an earlier change has lost.
var errLost = errors.New("the run goes on from what is on disk")

// change edits threads in memory and commits them. Commits are queued while
// the engine is locked, so that they are made in the order of the edits.
//
// Functions are invoked as soon as the commit has its place in that order:
// whatever one writes to the same file comes after it, and nothing may leave
// this process before it is on disk there (sqlitedb.DB.Settle). So no
// transition takes effect that could be lost. The same holds for who has
// started a run or answered a wait: when change returns, that is committed. If a commit fails, memory is
// ahead of the disk: if the disk refused a row, the runs of this change alone
// go on from the disk; otherwise the engine stops, and the next Open goes on
// from there.
func (e *Engine) change(ctx context.Context, edit func() (*change, error)) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errClosed
	}
	c, err := e.edit(ctx, edit)
	if err != nil || c == nil {
		e.mu.Unlock()
		return err
	}
	c.collect()
	wait := e.DB.QueuePatiently(c.write)
	c.begin()
	e.work.Add(1)
	e.mu.Unlock()
	defer e.work.Done()
	err = wait()
	switch {
	case err == nil:
		e.settled(c)
		return nil
	case sqlitedb.IsConflict(err), errors.Is(err, errLost):
		e.reload(c)
		return fmt.Errorf("commit run %s: %w", c.runs[0].name, err)
	}
	return e.fail(fmt.Errorf("commit run %s: %w", c.runs[0].name, err))
}

// edit makes an edit. One that panics fails the runs that it was about, and
// no others.
func (e *Engine) edit(ctx context.Context, do func() (*change, error)) (c *change, err error) {
	defer func() {
		p := recover()
		if p == nil {
			e.open = nil
			return
		}
		e.Log.ErrorContext(ctx, "a transition panicked", "panic", p, "stack", string(debug.Stack()))
		c, err = e.broken(fmt.Sprint(p))
	}()
	return do()
}

// broken fails the runs of the open change.
func (e *Engine) broken(cause string) (*change, error) {
	c := e.open
	e.open = nil
	if c == nil {
		return nil, fmt.Errorf("the engine panicked: %s", cause)
	}
	for _, r := range c.runs {
		r.parent = "" // who waits for it may be what panicked
		r.end(statusFailed, nil, &Failure{Name: errRuntime, Cause: "the engine panicked: " + cause})
	}
	return c, nil
}

// settled forgets the names of runs whose end is committed.
func (e *Engine) settled(c *change) {
	if !slices.ContainsFunc(c.runs, func(r *run) bool { return r.over }) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range c.runs {
		if e.ended[r.name] == r {
			delete(e.ended, r.name)
		}
	}
}

// fail stops the engine.
func (e *Engine) fail(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.closed = true
		e.failed <- err
	}
	return err
}

// changed is the change that the run's edits go into.
func (r *run) changed() *change {
	if r.touched == nil {
		r.touched = &change{runs: []*run{r}}
		r.engine.open = r.touched
	}
	return r.touched
}

func (c *change) add(r *run) *change {
	if !slices.Contains(c.runs, r) {
		c.runs = append(c.runs, r)
	}
	return c
}

// collect turns the edited runs into statements, while the engine is locked.
func (c *change) collect() {
	for _, r := range c.runs {
		r.touched = nil
		r.over = r.status != statusRunning
		c.storeRun(r)
	}
	for _, t := range c.moved {
		if !t.run.over && t.stored != t.seq && t.run.threads[t.id] == t {
			c.store(t)
		}
	}
	for _, t := range c.gone {
		if !t.run.over && t.stored != 0 {
			c.do(`DELETE FROM asl_threads WHERE run = ? AND id = ?`, t.run.name, t.id)
		}
	}
}

func (c *change) do(query string, args ...any) {
	c.stores = append(c.stores, func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

// write is the transaction. A row that the disk refuses loses the runs: what
// was queued after it is refused too.
func (c *change) write(tx *sqlitedb.Tx) error {
	for _, r := range c.runs {
		if r.lost.Load() {
			return errLost
		}
	}
	for _, do := range c.stores {
		if err := do(tx); err != nil {
			for _, r := range c.runs {
				r.lost.Store(sqlitedb.IsConflict(err))
			}
			return err
		}
	}
	return nil
}

// begin lets the effects of the changed threads happen.
func (c *change) begin() {
	for i, t := range c.threads {
		if t.seq == c.seqs[i] {
			t.begin()
		}
	}
}
