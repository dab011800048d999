package asl

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
		`CREATE TABLE asl_definitions (hash TEXT PRIMARY KEY, definition TEXT NOT NULL) WITHOUT ROWID`,
		`ALTER TABLE asl_runs ADD COLUMN definition TEXT NOT NULL DEFAULT ''`,
		`ALTER TABLE asl_runs ADD COLUMN ended INTEGER NOT NULL DEFAULT 0`, // Unix ms; 0 while it is under way, and for those that ended before there was this column
		`CREATE INDEX asl_ended ON asl_runs (ended) WHERE status <> 'RUNNING'`,
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
	Since    int64           `json:"n,omitempty"` // Unix ms; the deadline was set
	Beat     int64           `json:"b,omitempty"` // ms
	Limit    int             `json:"l,omitempty"`
	Output   json.RawMessage `json:"out,omitempty"`
}

func (c *change) storeRun(r *run) {
	if r.fresh {
		r.fresh = false
		input, machine, started := encode(r.input), r.machine.Name, r.started.UnixMilli()
		c.do(`INSERT INTO asl_runs (name, machine, definition, status, input, parent, secret, started) VALUES (?, ?, ?, 'RUNNING', ?, ?, ?, ?)`,
			r.name, machine, r.machine.hash, string(input), r.parent, r.secret, started)
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
	c.do(`UPDATE asl_runs SET status = ?, output = ?, error = ?, cause = ?, parent = '', ended = ? WHERE name = ?`,
		r.status, output, name, cause, r.engine.now().UnixMilli(), r.name)
	c.do(`DELETE FROM asl_threads WHERE run = ?`, r.name)
}

// store stores a thread that has moved.
func (c *change) store(t *thread) {
	t.stored = t.seq
	t.stopTimer()
	d := row{ID: t.id, Index: t.index, IsItem: t.isItem, Seq: t.seq, Wait: t.wait}
	if t.parent != nil {
		d.Parent = t.parent.id
	}
	if t.wait == waitEnded { // nobody asks any more how it came there
		d.Output = encode(t.output)
	} else {
		d.State, d.Input, d.Entered, d.Retries, d.Beat, d.Limit = t.state, encode(t.input), t.entered.UnixMilli(), t.retries, t.beat.Milliseconds(), t.limit
	}
	if t.isItem && t.wait != waitEnded {
		d.Item = encode(t.item)
	}
	if !t.deadline.IsZero() && t.wait != waitEnded {
		d.Deadline, d.Since = t.deadline.UnixMilli(), t.since.UnixMilli()
	}
	doc, err := json.Marshal(d)
	if err != nil {
		doc = nil // a row of these types can't fail to be written
	}
	c.do(`INSERT INTO asl_threads VALUES (?, ?, ?) ON CONFLICT (run, id) DO UPDATE SET doc = excluded.doc`, t.run.name, t.id, string(doc))
	c.threads, c.seqs = append(c.threads, t), append(c.seqs, t.seq)
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
