package asl

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

func migrations() []string {
	return []string{
		`CREATE TABLE asl_runs (
			name TEXT PRIMARY KEY, machine TEXT NOT NULL, status TEXT NOT NULL, input TEXT NOT NULL,
			output TEXT, error TEXT, cause TEXT, parent TEXT NOT NULL, secret TEXT NOT NULL, started INTEGER NOT NULL
		) WITHOUT ROWID`,
		`CREATE INDEX asl_running ON asl_runs (status) WHERE status = 'RUNNING'`,
		`CREATE TABLE asl_threads (
			run TEXT NOT NULL, id INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (run, id)
		) WITHOUT ROWID`,
	}
}

// row is a thread as it is stored.
type row struct {
	ID       int64           `json:"id"`
	Parent   int64           `json:"p,omitempty"`
	Index    int             `json:"i,omitempty"`
	IsItem   bool            `json:"m,omitempty"`
	Item     json.RawMessage `json:"item,omitempty"`
	State    string          `json:"s,omitempty"`
	Input    json.RawMessage `json:"in,omitempty"`
	Entered  int64           `json:"at,omitempty"` // Unix ms
	Retries  []int           `json:"r,omitempty"`
	Seq      int64           `json:"q"`
	Wait     wait            `json:"w"`
	Deadline int64           `json:"d,omitempty"` // Unix ms
	Beat     int64           `json:"b,omitempty"` // ms
	Limit    int             `json:"l,omitempty"`
	Output   json.RawMessage `json:"out,omitempty"`
}

// change is what one edit has changed, on its way to the disk.
type change struct {
	runs    []*run
	threads []*thread // whose effects begin after the commit
	seqs    []int64   // theirs
	stores  []func(*sqlitedb.Tx) error
}

// changed is the change that the run's edits go into.
func (r *run) changed() *change {
	if r.touched == nil {
		r.touched = &change{runs: []*run{r}}
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
	for i := 0; i < len(c.runs); i++ {
		r := c.runs[i]
		r.touched = nil
		c.storeRun(r)
		if r.status == statusRunning {
			c.storeThreads(r)
		}
	}
}

func (c *change) storeRun(r *run) {
	if r.fresh {
		r.fresh = false
		input, machine, started := encode(r.input), r.machine.Name, r.started.UnixMilli()
		c.do(`INSERT INTO asl_runs (name, machine, status, input, parent, secret, started) VALUES (?, ?, 'RUNNING', ?, ?, ?, ?)`,
			r.name, machine, string(input), r.parent, r.secret, started)
	}
	if r.status == statusRunning {
		return
	}
	var output, name, cause any
	if r.failure == nil {
		output = string(encode(r.output))
	} else {
		name, cause = r.failure.Name, r.failure.Cause
	}
	c.do(`UPDATE asl_runs SET status = ?, output = ?, error = ?, cause = ?, parent = '' WHERE name = ?`, r.status, output, name, cause, r.name)
	c.do(`DELETE FROM asl_threads WHERE run = ?`, r.name)
}

func (c *change) do(query string, args ...any) {
	c.stores = append(c.stores, func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

// storeThreads stores the threads that have moved and forgets those that are
// gone.
func (c *change) storeThreads(r *run) {
	live := map[int64]*thread{}
	var walk func(*thread)
	walk = func(t *thread) {
		live[t.id] = t
		if t.stored != t.seq || t.stored == 0 {
			c.store(t)
		}
		for _, b := range t.branches {
			walk(b)
		}
	}
	walk(r.root)
	for id, t := range r.threads {
		if live[id] == nil {
			t.stopTimer()
			c.do(`DELETE FROM asl_threads WHERE run = ? AND id = ?`, r.name, id)
		}
	}
	r.threads = live
}

func (c *change) store(t *thread) {
	t.stored = max(t.seq, 1)
	t.seq = t.stored
	t.stopTimer()
	d := row{
		ID: t.id, Index: t.index, IsItem: t.isItem, State: t.state, Input: encode(t.input), Entered: t.entered.UnixMilli(),
		Retries: t.retries, Seq: t.seq, Wait: t.wait, Beat: t.beat.Milliseconds(), Limit: t.limit,
	}
	if t.parent != nil {
		d.Parent = t.parent.id
	}
	if t.isItem {
		d.Item = encode(t.item)
	}
	if !t.deadline.IsZero() {
		d.Deadline = t.deadline.UnixMilli()
	}
	if t.wait == waitEnded {
		d.Output = encode(t.output)
	}
	c.do(`INSERT INTO asl_threads VALUES (?, ?, ?) ON CONFLICT (run, id) DO UPDATE SET doc = excluded.doc`, t.run.name, t.id, string(encode(d)))
	c.threads, c.seqs = append(c.threads, t), append(c.seqs, t.seq)
}

// write is the transaction.
func (c *change) write(tx *sqlitedb.Tx) error {
	for _, do := range c.stores {
		if err := do(tx); err != nil {
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

// DescribeExecution tells how a run stands.
func (e *Engine) DescribeExecution(ctx context.Context, name string) (Execution, error) {
	x := Execution{Name: name}
	var input string
	var output, failure, cause sql.NullString
	err := e.DB.Read(ctx, func(tx *sqlitedb.Tx) error {
		return tx.QueryRow(`SELECT machine, status, input, output, error, cause FROM asl_runs WHERE name = ?`, name).
			Scan(&x.Machine, &x.Status, &input, &output, &failure, &cause)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Execution{}, fmt.Errorf("%w: %s", ErrExecutionDoesNotExist, name)
	}
	if err != nil {
		return Execution{}, fmt.Errorf("read run %s: %w", name, err)
	}
	x.Input, x.Error, x.Cause = json.RawMessage(input), failure.String, cause.String
	if output.Valid {
		x.Output = json.RawMessage(output.String)
	}
	return x, nil
}

// Resume loads the runs that were under way and lets them go on: a function
// that was being invoked is invoked again.
func (e *Engine) Resume(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	docs := map[string][]string{}
	err := e.DB.Read(ctx, func(tx *sqlitedb.Tx) error {
		if err := e.loadRuns(tx); err != nil {
			return err
		}
		for name := range e.runs {
			rows, err := tx.Query(`SELECT doc FROM asl_threads WHERE run = ? ORDER BY id`, name)
			if err != nil {
				return err
			}
			if docs[name], err = texts(rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("load runs: %w", err)
	}
	for name, list := range docs {
		if err := e.runs[name].load(list); err != nil {
			return fmt.Errorf("load run %s: %w", name, err)
		}
	}
	for _, r := range e.runs {
		if t, _ := e.find(r.parent); t != nil {
			t.child = r
		}
	}
	for _, r := range e.runs {
		for _, t := range r.threads {
			t.begin()
		}
	}
	return nil
}

func (e *Engine) loadRuns(tx *sqlitedb.Tx) error {
	rows, err := tx.Query(`SELECT name, machine, input, parent, secret, started FROM asl_runs WHERE status = 'RUNNING'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, machine, input, parent, secret string
		var started int64
		if err := rows.Scan(&name, &machine, &input, &parent, &secret, &started); err != nil {
			return err
		}
		m := e.Machines[machine]
		if m == nil {
			return fmt.Errorf("%w: %q", ErrStateMachineUnknown, machine)
		}
		data, err := decode([]byte(input))
		if err != nil {
			return err
		}
		r := e.newRun(name, m, data, parent)
		r.secret, r.fresh, r.started = secret, false, time.UnixMilli(started)
	}
	return rows.Err()
}

func texts(rows *sql.Rows) ([]string, error) {
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
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
			if d.Wait != waitEnded {
				p.left++
			}
			r.threads[d.ID] = t
		}
		if err := t.load(d); err != nil {
			return err
		}
		r.lastID = max(r.lastID, d.ID)
	}
	return nil
}

func (t *thread) branchStates(index int) *states {
	if st := t.def(); st.Type == "Parallel" {
		return st.Branches[index]
	}
	return t.def().ItemProcessor
}

func (t *thread) load(d row) error {
	t.state, t.retries, t.seq, t.stored, t.wait, t.limit = d.State, d.Retries, d.Seq, d.Seq, d.Wait, d.Limit
	t.entered, t.beat = time.UnixMilli(d.Entered), time.Duration(d.Beat)*time.Millisecond
	if d.Deadline != 0 {
		t.deadline = time.UnixMilli(d.Deadline)
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
