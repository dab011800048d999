package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// executions is store.Executions.
type executions struct {
	db     *sqlitedb.DB
	recent *recentRuns
}

const executionColumns = `id, scope, pipeline, sequence, status, version, started_at, doc, approvals, inputs, interventions, turns, held`

// Lists of executions; a page costs what is on it.
const (
	selectExecutions   = `SELECT ` + executionColumns + ` FROM execution WHERE scope = ? AND pipeline <> ''` + newestFirst // a preview has none
	selectExecutionsOf = `SELECT ` + executionColumns + ` FROM execution INDEXED BY execution_pipeline WHERE scope = ? AND pipeline = ?` + newestFirst
	// The statuses that are asked for stand in one text, each between spaces.
	newestFirst = ` AND (started_at, id) < (?, ?) AND started_at >= ? AND (? = '' OR instr(?, ' ' || ` + shownStatus + ` || ' ')) ORDER BY started_at DESC, id DESC LIMIT ?`
	// See store.Execution.Shown.
	shownStatus = `CASE WHEN status NOT IN ('Running', 'QueuedExecutionConcurrencyReached') THEN status
		WHEN json_extract(doc, '$.interrupt') = 'Pause' THEN iif(held > 0 OR status <> 'Running', 'Paused', 'Pausing')
		WHEN status <> 'Running' THEN status WHEN interventions > 0 THEN 'InterventionWaiting' WHEN approvals > 0 THEN 'ApprovalWaiting'
		WHEN inputs > 0 THEN 'InputWaiting' WHEN turns > 0 THEN 'ResourceWaiting' ELSE status END`
	selectUnderWay = `SELECT ` + executionColumns + ` FROM execution WHERE status IN ('Running', 'QueuedExecutionConcurrencyReached')
		AND (started_at, id) > (?, ?) AND started_at < ? ORDER BY started_at, id LIMIT ?`
)

// executionDoc is what no query asks an execution for.
type executionDoc struct {
	Name      string          `json:"name,omitempty"`
	PlanHash  string          `json:"plan,omitempty"`
	Message   string          `json:"message,omitempty"`
	Inputs    json.RawMessage `json:"inputs,omitempty"`
	Actor     string          `json:"actor,omitempty"`
	RetryOf   string          `json:"retryOf,omitempty"`
	Resume    *store.Resume   `json:"resume,omitempty"`
	Back      string          `json:"rollbackOf,omitempty"`
	Parent    store.Holder    `json:"parent,omitzero"`
	Preview   string          `json:"previewOf,omitempty"` // a preview's pipeline, by which no list finds it
	Override  *store.Override `json:"override,omitempty"`  // of deployment freezes
	As        *store.Identity `json:"as,omitempty"`
	Starts    bool            `json:"stepsAreJudged,omitempty"` // see store.Execution.JudgesSteps
	Interrupt store.Interrupt `json:"interrupt,omitempty"`
	EndedAt   int64           `json:"ended,omitempty"`
	Deadline  int64           `json:"deadline,omitempty"`
}

func encodeExecution(e store.Execution) (string, error) {
	preview := ""
	if e.Preview {
		preview = e.Pipeline
	}
	doc, err := json.Marshal(executionDoc{
		Name: e.Name, PlanHash: e.PlanHash, Message: e.Message, Inputs: e.Inputs, Actor: e.Actor, RetryOf: e.RetryOf, Resume: e.Resume, Back: e.RollbackOf, Parent: e.Parent,
		Preview:   preview,
		Override:  e.Override,
		As:        e.As,
		Starts:    e.JudgesSteps,
		Interrupt: e.Interrupt, EndedAt: millis(e.EndedAt), Deadline: millis(e.Deadline),
	})
	if err != nil {
		return "", fmt.Errorf("encode execution %s: %w", e.ID, err)
	}
	return string(doc), nil
}

func scanExecution(row scanner) (store.Execution, error) {
	var e store.Execution
	var scope string
	var started int64
	var raw []byte
	if err := row.Scan(&e.ID, &scope, &e.Pipeline, &e.Sequence, &e.Status, &e.Version, &started, &raw, &e.Waits.Approvals, &e.Waits.Inputs, &e.Waits.Interventions, &e.Waits.Turns, &e.Waits.Held); err != nil {
		return store.Execution{}, err
	}
	var d executionDoc
	if err := json.Unmarshal(raw, &d); err != nil {
		return store.Execution{}, fmt.Errorf("decode execution %s: %w", e.ID, err)
	}
	return d.complete(e, scope, started)
}

// complete adds to an execution what its columns don't say as it is.
func (d *executionDoc) complete(e store.Execution, scope string, started int64) (store.Execution, error) {
	e.Name, e.PlanHash, e.Message, e.Inputs, e.Actor, e.RetryOf, e.Resume, e.RollbackOf, e.Parent = d.Name, d.PlanHash, d.Message, d.Inputs, d.Actor, d.RetryOf, d.Resume, d.Back, d.Parent
	e.Override, e.As, e.JudgesSteps = d.Override, d.As, d.Starts
	e.Interrupt, e.StartedAt, e.EndedAt, e.Deadline = d.Interrupt, fromMillis(started), fromMillis(d.EndedAt), fromMillis(d.Deadline)
	if d.Preview != "" {
		e.Preview, e.Pipeline = true, d.Preview
	}
	var err error
	e.Scope, err = parseScope(scope)
	return e, err
}

func readExecution(tx *sqlitedb.Tx, id string) (store.Execution, error) {
	e, err := scanExecution(tx.QueryRow(`SELECT `+executionColumns+` FROM execution WHERE id = ?`, id))
	return e, missing(err, "execution %q", id)
}

// CreateExecution stores an execution, or gives back the one with its id.
func (s executions) CreateExecution(ctx context.Context, e store.Execution, planDoc []byte, a audit.Record) (store.Execution, error) {
	doc, err := encodeExecution(e)
	if err != nil {
		return store.Execution{}, err
	}
	return apply(ctx, s.db, func(tx *sqlitedb.Tx) (store.Execution, error) {
		have, err := readExecution(tx, e.ID)
		if !fault.Is(err, fault.NotFound) {
			return have, err
		}
		scope := scopeKey(e.Scope)
		sequence, err := nextSequence(tx, e)
		if err != nil {
			return store.Execution{}, err
		}
		listed := e.Pipeline
		if e.Preview {
			listed = ""
		}
		if err := exec(tx, `INSERT INTO plan (hash, doc) VALUES (?, ?) ON CONFLICT DO NOTHING`, e.PlanHash, nonNil(planDoc)); err != nil {
			return store.Execution{}, err
		}
		if _, err := appendAudit(tx, a); err != nil {
			return store.Execution{}, err
		}
		made, err := scanExecution(tx.QueryRow(`INSERT INTO execution (`+executionColumns+`) VALUES (?, ?, ?, ?, ?, 1, ?, ?, 0, 0, 0, 0, 0)
			RETURNING `+executionColumns, e.ID, scope, listed, sequence, string(e.Status), millis(e.StartedAt), doc))
		if err == nil {
			tx.Then(func() { s.recent.begin(made, len(doc)) })
		}
		return made, err
	})
}

// nextSequence gives an execution its number; a preview only reads it.
func nextSequence(tx *sqlitedb.Tx, e store.Execution) (sequence int64, err error) {
	query := `INSERT INTO pipeline_sequence VALUES (?, 1) ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last`
	if e.Preview {
		query = `SELECT 1 + IFNULL((SELECT last FROM pipeline_sequence WHERE pipeline = ?), 0)`
	}
	err = tx.QueryRow(query, scopeKey(e.Scope)+separator+join(e.Pipeline)).Scan(&sequence)
	return sequence, err
}

// Execution reads one.
func (s executions) Execution(ctx context.Context, id string) (store.Execution, error) {
	if e, ok := s.recent.execution(id); ok {
		return e, nil
	}
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Execution, error) { return readExecution(tx, id) })
}

// ListExecutions lists those of exactly one scope, the newest first.
func (s executions) ListExecutions(ctx context.Context, f store.ExecutionFilter, page store.Page) ([]store.Execution, string, error) {
	query, args := selectExecutions, []any{scopeKey(f.Scope)}
	if f.Pipeline != "" {
		query, args = selectExecutionsOf, append(args, f.Pipeline)
	}
	statuses := ""
	for _, one := range f.Statuses {
		statuses += " " + string(one) + " "
	}
	place := func(e store.Execution) moment { return momentOf(e.StartedAt, e.ID) }
	return byTime(ctx, s.db, page, newest, place, func(tx *sqlitedb.Tx, beyond moment, limit int) ([]store.Execution, error) {
		if !f.Before.IsZero() && millis(f.Before) < beyond.at {
			beyond = moment{at: millis(f.Before)}
		}
		return rows(tx, scanExecution, query, append(args, beyond.at, beyond.id, millis(f.Since), statuses, statuses, limit)...)
	})
}

// RunningExecutions lists those under way that began before a time.
func (s executions) RunningExecutions(ctx context.Context, before time.Time, page store.Page) ([]store.Execution, string, error) {
	place := func(e store.Execution) moment { return momentOf(e.StartedAt, e.ID) }
	return byTime(ctx, s.db, page, oldest, place, func(tx *sqlitedb.Tx, beyond moment, limit int) ([]store.Execution, error) {
		return rows(tx, scanExecution, selectUnderWay, beyond.at, beyond.id, millis(before), limit)
	})
}

// Plan reads a plan document by its hash.
func (s executions) Plan(ctx context.Context, hash string) ([]byte, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]byte, error) {
		var doc []byte
		err := tx.QueryRow(`SELECT doc FROM plan WHERE hash = ?`, hash).Scan(&doc)
		return doc, missing(err, "plan %q", hash)
	})
}

// updateExecution writes e over the version that it was read as.
func (s executions) updateExecution(tx *sqlitedb.Tx, e store.Execution) (store.Execution, error) {
	doc, err := encodeExecution(e)
	if err != nil {
		return store.Execution{}, err
	}
	updated, err := scanExecution(tx.QueryRow(`UPDATE execution SET status = ?, version = version + 1, doc = ?
		WHERE id = ? AND version = ? RETURNING `+executionColumns, string(e.Status), doc, e.ID, e.Version))
	if errors.Is(err, sql.ErrNoRows) {
		return store.Execution{}, store.Stale(fmt.Sprintf("execution %q", e.ID), e.Version)
	}
	if err == nil {
		tx.Then(func() { s.recent.change(updated, len(doc)) })
	}
	return updated, err
}

// SetInterrupt marks an execution that is under way.
func (s executions) SetInterrupt(ctx context.Context, id string, i store.Interrupt, a audit.Record) (store.Execution, error) {
	return apply(ctx, s.db, func(tx *sqlitedb.Tx) (store.Execution, error) {
		e, err := readExecution(tx, id)
		if err != nil {
			return store.Execution{}, err
		}
		if e.Interrupt == i && !e.Status.Terminal() {
			return e, nil
		}
		if err := store.Interruptible(e); err != nil {
			return store.Execution{}, err
		}
		if _, err := appendAudit(tx, a); err != nil {
			return store.Execution{}, err
		}
		e.Interrupt = i
		return s.updateExecution(tx, e)
	})
}
