package asl

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// record is a run as it was read from the disk.
type record struct {
	name, machine, definition, input, parent, secret string
	started                                          int64
	threads                                          []string
}

// Resume loads the runs that were under way and lets them go on: a function
// that was being invoked is invoked again. A run that can't be loaded fails,
// and the others go on.
func (e *Engine) Resume(ctx context.Context) error {
	var records []record
	err := e.DB.Read(ctx, func(tx *sqlitedb.Tx) (err error) {
		records, err = underWay(tx, "")
		return err
	})
	if err != nil {
		return fmt.Errorf("load runs: %w", err)
	}
	broken := map[string]error{}
	e.mu.Lock()
	for _, rec := range records {
		if err := e.revive(ctx, rec); err != nil {
			broken[rec.name] = err
		}
	}
	good := slices.DeleteFunc(slices.Collect(maps.Values(e.runs)), func(r *run) bool { return broken[r.name] != nil })
	e.rejoin(good)
	e.mu.Unlock()
	for name, cause := range broken {
		e.Log.ErrorContext(ctx, "a run can't go on", "run", name, "error", cause)
		if err := e.change(ctx, func() (*change, error) { return e.abandon(name, cause), nil }); err != nil {
			return err
		}
	}
	return nil
}

// underWay reads the runs of a name that are under way; all for no name.
func underWay(tx *sqlitedb.Tx, name string) ([]record, error) {
	rows, err := tx.Query(`SELECT name, machine, definition, input, parent, secret, started FROM asl_runs
		WHERE status = 'RUNNING' AND (name = ?1 OR ?1 = '')`, name)
	if err != nil {
		return nil, err
	}
	records, err := scanned(rows, func(r *record) []any {
		return []any{&r.name, &r.machine, &r.definition, &r.input, &r.parent, &r.secret, &r.started}
	})
	for i := range records {
		if err != nil {
			break
		}
		if rows, err = tx.Query(`SELECT doc FROM asl_threads WHERE run = ? ORDER BY id`, records[i].name); err == nil {
			records[i].threads, err = scanned(rows, func(s *string) []any { return []any{s} })
		}
	}
	return records, err
}

// scanned reads rows to their end.
func scanned[T any](rows *sql.Rows, into func(*T) []any) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		if err := rows.Scan(into(&v)...); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// revive makes a run of its record, with the definition that it began with.
// Without a definition it is left as something that can only be ended. The
// engine is locked.
func (e *Engine) revive(ctx context.Context, rec record) (err error) {
	r := e.newRun(rec.name, &Machine{Name: rec.machine}, nil, rec.parent)
	r.secret, r.fresh, r.started = rec.secret, false, time.UnixMilli(rec.started)
	defer func() {
		if p := recover(); p != nil { // of rows that don't fit the definition
			err = fmt.Errorf("its rows don't fit its definition: %v", p)
		}
	}()
	if r.machine, err = e.definition(ctx, rec.machine, rec.definition); err != nil {
		return err
	}
	r.root.states = r.machine.states
	if r.input, err = decode([]byte(rec.input)); err != nil {
		return err
	}
	if len(rec.threads) == 0 {
		return errors.New("it has no threads")
	}
	return r.load(rec.threads)
}

// rejoin ties runs to the runs that wait for them, and lets them go on. The
// engine is locked.
func (e *Engine) rejoin(runs []*run) {
	for _, r := range e.runs {
		if t, _ := e.find(r.parent); t != nil {
			t.child = r
		}
	}
	for _, r := range runs {
		for _, t := range r.threads {
			t.begin()
		}
	}
}

// abandon fails a run that couldn't be loaded; whoever waits for it hears.
func (e *Engine) abandon(name string, cause error) *change {
	r := e.runs[name]
	c := r.changed()
	for _, t := range r.threads {
		t.wait = waitEnded
		t.moved()
	}
	r.end(statusFailed, nil, &Failure{Name: errRuntime, Cause: "the run can't go on: " + cause.Error()})
	return c
}

// reload drops what memory holds of a change that the disk refused, and lets
// its runs go on from what is there.
func (e *Engine) reload(c *change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var back []*run
	for _, r := range c.runs {
		if e.known(r.name) != r {
			continue // by an earlier change
		}
		r.forget()
		if next, err := e.reread(r.name); err != nil {
			e.Log.ErrorContext(e.ctx, "a run waits for the next start", "run", r.name, "error", err)
		} else if next != nil {
			back = append(back, next)
		}
	}
	if !e.closed {
		e.rejoin(back)
	}
}

// forget takes a run out of memory; what it was about to do doesn't happen.
func (r *run) forget() {
	r.stopTimers()
	for _, t := range r.threads {
		t.wait, t.seq = waitEnded, -1
	}
	delete(r.engine.runs, r.name)
	delete(r.engine.ended, r.name)
}

// reread loads a run again; nil if none of the name is under way.
func (e *Engine) reread(name string) (*run, error) {
	var records []record
	err := e.DB.Read(e.ctx, func(tx *sqlitedb.Tx) (err error) {
		records, err = underWay(tx, name)
		return err
	})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	err = e.revive(e.ctx, records[0])
	if err != nil {
		delete(e.runs, name)
		return nil, err
	}
	return e.runs[name], nil
}

// load puts a run's threads together again. Parents have lower ids than their
// branches, so they come first.
func (r *run) load(docs []string) error {
	for _, doc := range docs {
		var d row
		if err := json.Unmarshal([]byte(doc), &d); err != nil {
			return err
		}
		t := r.root
		if d.Parent != 0 {
			p := r.threads[d.Parent]
			if p == nil {
				return fmt.Errorf("thread %d has no parent %d", d.ID, d.Parent)
			}
			t = &thread{run: r, id: d.ID, parent: p, index: d.Index, isItem: d.IsItem, states: p.branchStates(d.Index)}
			p.branches = append(p.branches, t)
			r.threads[d.ID] = t
		}
		if err := t.load(d); err != nil {
			return err
		}
		r.lastID = max(r.lastID, d.ID)
	}
	for _, t := range r.threads {
		if t.wait != waitBranches {
			continue
		}
		if err := t.recount(); err != nil {
			return err
		}
	}
	return nil
}

// recount works out anew how far a Map or Parallel has come.
func (t *thread) recount() error {
	if f := t.readItems(t.def(), t.context("")); f != nil {
		return f
	}
	t.left = t.count
	for _, b := range t.branches {
		t.next = max(t.next, b.index+1)
		switch b.wait {
		case waitEnded:
			t.left--
		case waitPending: // of a release that kept them
			t.pending = append(t.pending, b)
		default:
			t.active++
		}
	}
	return nil
}

func (t *thread) branchStates(index int) *states {
	if st := t.def(); st.Type == "Parallel" {
		return st.Branches[index]
	}
	return &t.def().ItemProcessor.states
}

func (t *thread) load(d row) error {
	t.state, t.retries, t.seq, t.stored, t.wait, t.limit = d.State, d.Retries, d.Seq, d.Seq, d.Wait, d.Limit
	t.entered, t.beat = time.UnixMilli(d.Entered), time.Duration(d.Beat)*time.Millisecond
	if d.Deadline != 0 {
		t.deadline, t.since = time.UnixMilli(d.Deadline), time.UnixMilli(cmp.Or(d.Since, d.Entered))
		t.rewait()
	}
	if t.def() == nil && t.wait != waitPending && t.wait != waitEnded {
		return fmt.Errorf("its definition has no state %q", t.state)
	}
	for _, v := range []struct {
		from json.RawMessage
		to   *any
	}{{d.Input, &t.input}, {d.Item, &t.item}, {d.Output, &t.output}} {
		if len(v.from) == 0 {
			continue
		}
		var err error
		if *v.to, err = decode(v.from); err != nil {
			return err
		}
	}
	return nil
}
